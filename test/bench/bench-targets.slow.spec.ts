import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ACCESS_TOKEN, TargetServer } from '../../bench/server.js';
import { buildPeers, storeTarget } from '../../bench/targets.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';

beforeAll(async () => {
  await promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'bench/tsconfig.json']);
});

async function post(port: number, body: object, token = ACCESS_TOKEN): Promise<[number | undefined, string]> {
  using connection = await RawConnection.open(port);
  const text = JSON.stringify(body);
  connection.send(postHead('', text, { Authorization: `Bearer ${token}` }), text);
  const response = await connection.response();
  return [response?.status, response?.body ?? ''];
}

/** An insert fails in a session that would answer before the plant is on disk. */
const REFUSE_WHAT_IS_NOT_DURABLE = `
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ASSERT current_setting('synchronous_commit') = 'on';
    RETURN NEW;
  END $$;
  CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`;

const TARGETS = [storeTarget('plant store', 'dist'), ...(await buildPeers())];

describe('A target of the benchmark', () => {
  it.each(TARGETS)('should do the same work as the others: $title', async (target) => {
    const database = await createTestDatabase();
    await database.query(REFUSE_WHAT_IS_NOT_DURABLE);
    const server = await TargetServer.start(target, database.url);
    try {
      const plant = { id: Number.MAX_SAFE_INTEGER, name: 'Rose', tag: 'flower' };
      expect(await post(server.port, plant)).toEqual([200, '{"name":"Rose","tag":"flower"}']);
      expect(await post(server.port, { id: -1, name: 'Ivy' })).toEqual([200, '{"name":"Ivy"}']);
      const refused = [{ id: 1 }, { id: 1, name: 5 }, { id: 1, name: 'Rose', tag: 5 }, { name: 'Rose' }];
      for (const body of [...refused, { id: 1.5, name: 'Rose' }, { id: -1, name: 'Rose' }])
        expect((await post(server.port, body))[0]).toBeGreaterThanOrEqual(400);
      expect((await post(server.port, { id: 1, name: 'Rose' }, `${ACCESS_TOKEN}x`))[0]).toBeGreaterThanOrEqual(400);
      expect(await database.query('SELECT id, name, tag FROM plants ORDER BY id')).toEqual([
        { id: '-1', name: 'Ivy', tag: null },
        { id: '9007199254740991', name: 'Rose', tag: 'flower' },
      ]);
    } finally {
      await server.stop();
      await database.drop();
    }
  });
});
