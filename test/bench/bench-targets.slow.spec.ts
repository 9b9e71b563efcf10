import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Pgbench } from '../../bench/pgbench.js';
import { ACCESS_TOKEN, TargetServer } from '../../bench/target-server.js';
import { allTargets } from '../../bench/targets.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';

const servers = allTargets(['dist']).filter((target) => target.kind === 'server');

beforeAll(async () => {
  await promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'bench/tsconfig.json']);
});

async function post(port: number, body: object, token = ACCESS_TOKEN): Promise<RawResponse> {
  using connection = await RawConnection.open(port);
  const text = JSON.stringify(body);
  connection.send(postHead('', text, { Authorization: `Bearer ${token}` }), text);
  const response = await connection.response();
  if (!response) throw new Error('the server closed the connection without an answer');
  return response;
}

/** Skipped, with one line on why, if something is missing: also on CI, as it is nothing that users need. */
function describeTarget(name: string, missing: string | undefined, suite: () => void): void {
  if (missing !== undefined) process.stderr.write(`Skipped "The target ${name}": ${missing}\n`);
  (missing === undefined ? describe : describe.skip)(`The target ${name}`, suite);
}

/** An insert fails in a session that would answer before the plant is on disk. */
const REFUSE_WHAT_IS_NOT_DURABLE = `
  CREATE FUNCTION refuse_what_is_not_durable() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ASSERT current_setting('synchronous_commit') = 'on', 'synchronous_commit has to be on';
    RETURN NEW;
  END $$;
  CREATE TRIGGER durable BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse_what_is_not_durable()`;

// What is compared has to do the same work.
for (const target of servers.filter(({ storesPlants }) => storesPlants)) {
  const missing = await target.program?.().then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
  describeTarget(target.name, missing, () => {
    let database: TestDatabase;
    let server: TargetServer;
    const plants = (): Promise<unknown[]> => database.query('SELECT id, name, tag FROM plants ORDER BY id');

    beforeAll(async () => {
      database = await createTestDatabase();
      await database.query(REFUSE_WHAT_IS_NOT_DURABLE);
      server = await TargetServer.start(target, database.url);
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
      await database.drop();
    });

    it('should create a plant durably, with and without a tag', async () => {
      const answers = [
        await post(server.port, { id: Number.MAX_SAFE_INTEGER, name: 'Rose', tag: 'flower' }),
        await post(server.port, { id: -1, name: 'Ivy' }),
      ];

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.map(({ headers }) => headers['content-type'])).toEqual([
        expect.stringMatching(/^application\/json(; charset=utf-8)?$/),
        expect.stringMatching(/^application\/json(; charset=utf-8)?$/),
      ]);
      expect(answers.map(({ body }) => body)).toEqual(['{"name":"Rose","tag":"flower"}', '{"name":"Ivy"}']);
      expect(await plants()).toEqual([
        { id: '-1', name: 'Ivy', tag: null },
        { id: '9007199254740991', name: 'Rose', tag: 'flower' },
      ]);
    });

    it.each([
      ['a wrong token', { id: 1, name: 'Rose' }, `${ACCESS_TOKEN.slice(0, -1)}x`],
      ['a longer token', { id: 2, name: 'Rose' }, `${ACCESS_TOKEN}x`],
      ['a missing name', { id: 1 }],
      ['a name that is no string', { id: 1, name: 5 }],
      ['a tag that is no string', { id: 1, name: 'Rose', tag: 5 }],
      ['a missing id', { name: 'Rose' }],
      ['an id that is no integer', { id: 1.5, name: 'Rose' }],
      ['an id that is taken', { id: -1, name: 'Rose' }],
    ])('should refuse %s, and store nothing', async (_, body, token = ACCESS_TOKEN) => {
      const before = await plants();
      const { status } = await post(server.port, body, token);

      expect(status).toBeGreaterThanOrEqual(400);
      expect(await plants()).toEqual(before);
    });
  });
}

describe('The target echo', () => {
  it('should answer what it was sent', async () => {
    const [echo] = servers.filter((target) => !target.storesPlants);
    if (!echo) throw new Error('there is no echo');
    await using server = await TargetServer.start(echo, '');

    expect(await post(server.port, { id: 1, name: 'Rose' })).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: '{"id":1,"name":"Rose"}',
    });
  });
});

const pgbench = await Pgbench.find();

describeTarget('pgbench', pgbench ? undefined : 'there is no pgbench', () => {
  it('should insert a plant in each transaction', async () => {
    const database = await createTestDatabase();
    try {
      const run = { connections: 2, seconds: 0.1, firstId: 1, signal: new AbortController().signal };
      const result = await pgbench?.run(database.url, run);
      const rows = await database.query('SELECT id FROM plants');

      expect(result).toMatchObject({ creates: rows.length });
      expect(result?.p99).toBeGreaterThan(0);
    } finally {
      await database.drop();
    }
  });
});
