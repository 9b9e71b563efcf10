import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeToken } from '../../src/auth/token-format.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, requestHead, TOKEN } from '../support/http/request.js';
import { ManagedService } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

type Entry = Record<string, unknown>;

const NAME = 'a name of nobody else';
const TAG = 'a tag of nobody else';
const ID = '9007199254740993';
const plant = (id = ID): string => `{"id":${id},"name":"${NAME}","tag":"${TAG}"}`;
const JWT = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl';
const WRONG = makeToken();
const NO_PLANT = '{"id":"1","tag":2}';

describe('The log of requests', () => {
  let service: ManagedService;

  const useService = (variables: Record<string, string>): void => {
    beforeAll(async () => {
      service = await ManagedService.start(variables);
    });
    afterAll(() => service[Symbol.asyncDispose]());
  };
  const requests = (): Entry[] => service.process.log.filter(({ context }) => context === 'Request');
  /** Sends the bytes, and returns the line under the id of the answer. */
  const lineOf = async (bytes: string): Promise<Entry | undefined> => {
    using connection = await RawConnection.open(service.process.port);
    connection.send(bytes);
    const id = (await connection.response())?.headers['x-request-id'];
    const find = (): Entry | undefined => requests().find(({ requestId }) => requestId === id);
    await until(() => find() !== undefined);
    return find();
  };

  describe('of all', () => {
    useService({ LOG_REQUESTS: 'all' });

    it('should have all that is known of a create', async () => {
      const headers = { 'X-Request-Id': 'chosen', 'X-Forwarded-For': '192.0.2.7' };
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

    const of = (path: string): string => requestHead(`GET ${path} HTTP/1.1`);
    const forwarded = requestHead('GET /trees HTTP/1.1', { 'X-Forwarded-For': `garbage ${WRONG}` });

    it.each<[string, string, Entry]>([
      ['the fields of what is no plant', postHead('', NO_PLANT) + NO_PLANT, { error: 40003 }],
      ['a taken id', postHead('', plant()) + plant(), { error: 40901, token: 'static', plantId: ID }],
      ['a wrong token', postHead('', plant(), bearer(WRONG)) + plant(), { error: 40101, path: '/plants' }],
      ['an unknown path', of('/trees?secret=1'), { error: 40400, path: '/trees', method: 'GET' }],
      ['a page', of('/docs/'), { error: 0, path: '/docs/' }],
      ['tokens in the path', of(`/a/${TOKEN}/${WRONG}/${JWT}`), { path: `/a${'/[access token]'.repeat(3)}` }],
      ['a whole URL', of('http://me:secret@host/trees?a'), { path: '/trees' }],
      ['a long path', of(`/${'x'.repeat(3000)}`), { path: `/${'x'.repeat(498)}…` }],
      ['no Host', 'GET /trees HTTP/1.1\r\n\r\n', { error: 40010, path: '/trees' }],
      ['what a proxy says of the client, without a token', forwarded, { forwardedFor: 'garbage [access token]' }],
      ['what is no HTTP', 'nonsense\r\n\r\n', { error: 40010 }],
    ])('should have %s', async (_what, bytes, fields) => {
      expect(await lineOf(bytes)).toMatchObject({ client: '127.0.0.1', ...fields });
    });

    it('should have no secret, no body and no query, and be JSON to the last line', async () => {
      const messages = requests().map(({ message }) => message);
      expect(messages).toContainEqual(expect.stringMatching(/^This is not a plant: .*id.*name.*tag/));
      service.process.signal('SIGTERM');
      expect(await service.process.ended).toBe(0);
      for (const entry of service.process.log) {
        expect(entry).toMatchObject({
          time: expect.any(String),
          level: expect.stringMatching(/^(fatal|error|warn|info|debug|trace)$/),
          context: expect.any(String),
          message: expect.any(String),
        });
      }
      const { url } = service.database;
      for (const secret of [TOKEN, WRONG, WRONG.slice(6, 26), JWT, NAME, TAG, 'secret', url, new URL(url).password])
        if (secret !== '') expect(service.process.output).not.toContain(secret);
    });
  });

  describe('of failures', () => {
    useService({});

    const count = (error: number): number =>
      requests()
        .filter((entry) => entry.error === error)
        .reduce((sum, { suppressed }) => sum + 1 + Number(suppressed ?? 0), 0);

    it('should have wrong tokens, each counted, but no success', async () => {
      expect(await service.process.post(plant())).toMatchObject({ status: 200 });
      using connection = await RawConnection.open(service.process.port);
      for (let i = 0; i < 300; i++) {
        connection.send(postHead('', '{}', bearer(makeToken())), '{}');
        await connection.response();
      }
      await until(() => count(40101) === 300);
      expect(requests().length).toBeLessThan(100);
      expect(requests().filter(({ error }) => error === 0)).toEqual([]);
    });

    it('should have an error of the service next to the line with its cause, under one id', async () => {
      await service.database.query('ALTER TABLE plants RENAME TO lost_plants');
      const line = await lineOf(postHead('', plant('2')) + plant('2'));
      expect(line).toMatchObject({ level: 'info', error: 50000, token: 'static', plantId: '2' });
      const [cause] = service.process.log.filter((entry) => entry.requestId === line?.requestId && entry !== line);
      expect(cause).toMatchObject({ level: 'error', error: 50000, stack: expect.stringContaining('plants') });
    });
  });

  describe('that is off', () => {
    useService({ LOG_REQUESTS: 'off' });

    it('should be empty', async () => {
      expect(await service.process.post('{}')).toMatchObject({ status: 400 });
      service.process.signal('SIGTERM');
      await service.process.ended;
      expect(requests()).toEqual([]);
    });
  });
});
