import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ACCESS_TOKEN, buildPeers, storeTarget, TargetServer } from '../../bench/targets.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { connectTo } from '../support/service/store.js';
import { bearer } from '../support/tokens/issued-token.js';

await promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'bench/tsconfig.json']);
const TARGETS = [storeTarget('plant store', 'dist'), ...(await buildPeers())];

/** An insert fails in a session that would answer before the plant is on disk. */
const REFUSE_WHAT_IS_NOT_DURABLE = `
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ASSERT current_setting('synchronous_commit') = 'on';
    RETURN NEW;
  END $$;
  CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`;

describe('A target of the benchmark', () => {
  it.each(TARGETS)('should do the same work as the others: $title', async (target) => {
    const database = await createTestDatabase();
    await database.query(REFUSE_WHAT_IS_NOT_DURABLE);
    const server = await TargetServer.start(target, database.url);
    const post = (plant: object, token = ACCESS_TOKEN): ReturnType<ReturnType<typeof connectTo>['post']> =>
      connectTo(server.port, '').post(JSON.stringify(plant), bearer(token));
    try {
      const plants = [
        { id: Number.MAX_SAFE_INTEGER, name: 'Rose', tag: 'flower' },
        { id: -1, name: 'Ivy' },
      ];
      for (const { id, ...body } of plants)
        expect(await post({ id, ...body })).toMatchObject({ status: 200, body: JSON.stringify(body) });
      const refused = [{ id: 1 }, { id: 1, name: 5 }, { id: 1, name: 'Rose', tag: 5 }, { name: 'Rose' }, plants[1]];
      for (const plant of [...refused, { id: 1.5, name: 'Rose' }])
        expect((await post({ ...plant })).status).toBeGreaterThanOrEqual(400);
      expect((await post({ id: 1, name: 'Rose' }, `${ACCESS_TOKEN}x`)).status).toBeGreaterThanOrEqual(400);
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
