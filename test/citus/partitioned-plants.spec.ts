import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { Migrator } from '../../src/database/migrator.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createTogether } from '../support/http/request.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStoreOn, type Store } from '../support/service/store.js';

const PARTITIONS = new URL('../../deploy/postgres/partitions.sql', import.meta.url);

describe('A table of plants that is partitioned by hash of id', () => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(`INSERT INTO plants (id, name) VALUES (9007199254740993, 'Oak')`);
    await database.query(await readFile(PARTITIONS, 'utf8'));
    store = await startStoreOn(database);
  });
  afterAll(async () => {
    await store.stop();
    await database.drop();
  });

  const partitions = (): Promise<unknown[]> => database.query('SELECT DISTINCT tableoid FROM plants');

  it('should take creates of all partitions in one statement, each id once', async () => {
    const ids = [...Array.from({ length: 30 }, (_, index) => index - 15), 7, 7];
    const answers = await createTogether(
      store.port,
      ids.map((id, index) => ({ body: `{"id":${id},"name":"Rose ${index}"}` })),
    );
    expect(answers.filter((answer) => answer?.status === 200)).toHaveLength(30);
    for (const answer of answers.slice(30)) expectRefusal(answer, 40901, 'contract');
    expect(store.statistics).toMatchObject({ created: 30, statementPlants: { count: 1 } });
    expect(await partitions()).toHaveLength(4);
  });

  it('should keep the plants from before, and resolve a repeated create', async () => {
    expectRefusal(await store.post('{"id":9007199254740993,"name":"Oak"}'), 40901, 'contract');
    const headers = { 'Idempotency-Key': 'a-key-of-the-test' };
    for (let time = 0; time < 2; time++)
      expect((await store.post('{"id":100,"name":"Rose"}', headers)).status).toBe(200);
  });

  it('should have nothing to migrate', async () => {
    expect(await new Migrator({ url: database.url }).migrate()).toEqual([]);
  });
});
