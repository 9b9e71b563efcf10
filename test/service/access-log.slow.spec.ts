import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeToken } from '../../src/auth/token-format.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, requestHead, TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

type Entry = Record<string, unknown>;

const NAME = 'a name of nobody else';
const TAG = 'a tag of nobody else';
const ID = '9007199254740993';
const plant = (id = ID): string => `{"id":${id},"name":"${NAME}","tag":"${TAG}"}`;
const JWT = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl';
const WRONG = makeToken();

describe('The log of requests', () => {
  let database: TestDatabase;
  let service: PlantStoreProcess;

  const start = async (variables: Record<string, string>): Promise<void> => {
    database = await createTestDatabase();
    service = await PlantStoreProcess.serve(database.url, variables);
  };
  const stop = async (): Promise<void> => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  };
  const requests = (): Entry[] => service.log.filter(({ context }) => context === 'Request');
  /** Sends the bytes, and returns the line under the id of the answer. */
  const lineOf = async (bytes: string): Promise<Entry | undefined> => {
    using connection = await RawConnection.open(service.port);
    connection.send(bytes);
    const id = (await connection.response())?.headers['x-request-id'];
    const find = (): Entry | undefined => requests().find(({ requestId }) => requestId === id);
    await until(() => find() !== undefined);
    return find();
  };

  describe('of all', () => {
    beforeAll(() => start({ LOG_REQUESTS: 'all' }));
    afterAll(stop);

    it('should have all that is known of a create', async () => {
      const headers = {
        'X-Request-Id': 'chosen',
        'X-Forwarded-For': '192.0.2.7',
      };
      const line = await lineOf(postHead('', plant(), headers) + plant());
      expect(line).toEqual({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        level: 'info',
        context: 'Request',
        message: 'Answered',
        requestId: 'chosen',
        client: '127.0.0.1',
        forwardedFor: '192.0.2.7',
        method: 'POST',
        path: '/plants',
        error: 0,
        durationMs: expect.any(Number),
        token: 'static',
        plantId: ID,
      });
      expect(String(line?.durationMs)).toMatch(/^\d+(\.\d{1,3})?$/);
    });

    it('should name the fields of what is no plant', async () => {
      const body = '{"id":"1","tag":2}';
      const line = await lineOf(postHead('', body) + body);
      expect(line).toMatchObject({
        error: 40003,
        message: expect.stringMatching(/^This is not a plant: .*id.*name.*tag/),
      });
    });

    it.each([
      ['a taken id', postHead('', plant()) + plant(), { error: 40901, token: 'static', plantId: ID }],
      ['a wrong token', postHead('', plant(), bearer(WRONG)) + plant(), { error: 40101, path: '/plants' }],
      ['an unknown path', requestHead('GET /trees?secret=1 HTTP/1.1'), { error: 40400, path: '/trees', method: 'GET' }],
      ['a page', requestHead('GET /docs/ HTTP/1.1'), { error: 0, path: '/docs/' }],
      [
        'a token in the path',
        requestHead(`GET /plants/${TOKEN}/${WRONG} HTTP/1.1`),
        { path: '/plants/[access token]/[access token]' },
      ],
      ['other percent codes', requestHead('GET /plants/%41%20%zz HTTP/1.1'), { path: expect.stringContaining('%') }],
      ['a JWT in the path', requestHead(`GET /plants/${JWT} HTTP/1.1`), { path: '/plants/[access token]' }],
      ['a whole URL', requestHead(`GET http://me:secret@host/trees?a HTTP/1.1`), { path: '/trees' }],
      ['a long path', requestHead(`GET /${'x'.repeat(3000)} HTTP/1.1`), { path: `/${'x'.repeat(498)}…` }],
      ['no Host', 'GET /trees HTTP/1.1\r\n\r\n', { error: 40010, path: '/trees', client: '127.0.0.1' }],
      [
        'what a proxy says of the client, without a token',
        requestHead('GET /trees HTTP/1.1', { 'X-Forwarded-For': `garbage ${WRONG}` }),
        { forwardedFor: 'garbage [access token]' },
      ],
    ])('should have %s', async (_what, bytes, fields) => {
      const line = await lineOf(bytes);
      expect(line).toMatchObject({ client: '127.0.0.1', ...fields });
    });

    it('should have the address of what is no HTTP', async () => {
      const line = await lineOf('nonsense\r\n\r\n');
      expect(line).toMatchObject({
        error: 40010,
        client: '127.0.0.1',
        message: expect.stringMatching(/^This is not an HTTP request/),
      });
      expect(Object.keys(line ?? {})).not.toContain('path');
    });

    it('should have no secret, no body and no query, and be JSON to the last line', async () => {
      service.signal('SIGTERM');
      expect(await service.ended).toBe(0);
      expect(requests().length).toBeGreaterThan(10);
      for (const entry of service.log) {
        expect(entry).toMatchObject({
          time: expect.any(String),
          level: expect.stringMatching(/^(fatal|error|warn|info|debug|trace)$/),
          context: expect.any(String),
          message: expect.any(String),
        });
      }
      const { password } = new URL(database.url);
      for (const secret of [TOKEN, WRONG, WRONG.slice(6, 26), JWT, NAME, TAG, 'secret', database.url, password]) {
        if (secret !== '') expect(service.output).not.toContain(secret);
      }
    });
  });

  describe('of failures', () => {
    beforeAll(() => start({}));
    afterAll(stop);

    const count = (error: number): number =>
      requests()
        .filter((entry) => entry.error === error)
        .reduce((sum, { suppressed }) => sum + 1 + Number(suppressed ?? 0), 0);

    it('should have wrong tokens, each counted, but no success', async () => {
      expect(await service.post(plant())).toMatchObject({ status: 200 });
      using connection = await RawConnection.open(service.port);
      for (let i = 0; i < 300; i++) {
        connection.send(postHead('', '{}', bearer(makeToken())), '{}');
        await connection.response();
      }
      await until(() => count(40101) === 300);
      expect(requests().filter(({ error }) => error === 0)).toEqual([]);
      expect(requests().find(({ error }) => error === 40101)).toMatchObject({
        client: '127.0.0.1',
        method: 'POST',
        path: '/plants',
      });
    });

    it('should have an error of the service next to the line with its cause, under one id', async () => {
      await database.query('ALTER TABLE plants RENAME TO lost_plants');
      const line = await lineOf(postHead('', plant('2')) + plant('2'));
      expect(line).toMatchObject({ level: 'info', error: 50000, token: 'static', plantId: '2' });
      const [cause] = service.log.filter((entry) => entry.requestId === line?.requestId && entry !== line);
      expect(cause).toMatchObject({ level: 'error', error: 50000, stack: expect.stringContaining('plants') });
    });
  });

  it('should be empty if it is off', async () => {
    await start({ LOG_REQUESTS: 'off' });
    try {
      expect(await service.post('{}')).toMatchObject({ status: 400 });
      service.signal('SIGTERM');
      await service.ended;
      expect(requests()).toEqual([]);
    } finally {
      await stop();
    }
  });
});
