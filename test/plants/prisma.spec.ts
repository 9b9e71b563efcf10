import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Prisma } from '../../src/prisma/generated/client.js';
import { PrismaService } from '../../src/prisma/prisma.service.js';
import { UrlPool } from '../../src/prisma/store-pool.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { createTogether } from '../support/http/request.js';
import { startStoreOn, type Store } from '../support/service/store.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe('The statements of a create', () => {
  let pool: pg.Pool;
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: database.url });
  });
  afterAll(() => endPool(pool));

  it.each<[string, () => Parameters<typeof Host.on>[0]]>([
    ['connections of the store', () => ({ url: database.url })],
    ['a pooler', () => ({ url: `${database.url}&pgbouncer=true` })],
    ['a pool of the host', () => ({ pool })],
  ])("should go through Prisma's client, on %s", async (_, options) => {
    await database.query('TRUNCATE plants');
    const host = await Host.on(options());
    const sent = jest.spyOn(host.app.get(PrismaService, { strict: false }), '$queryRaw');
    await host.expectCreated(1);
    expect(sent.mock.calls.map(([sql]) => (sql as unknown as { text: string }).text)).toEqual([
      expect.stringMatching(/^INSERT INTO "public"\."plants" \(id, name, /),
    ]);
    expect(await host.create(1)).toMatchObject({ status: 409 });
    expect(sent).toHaveBeenCalledTimes(3);
    await host.stop();
  });
});

/** Adds settings to all sessions of the database, as an operator of another application may have done. */
describe('Sessions that were set up for something else', () => {
  let store: Store;
  afterEach(() => store.stop());

  it('should not change what is stored or answered', async () => {
    await database.query(`TRUNCATE plants; DO $$ DECLARE setting text; BEGIN
      FOREACH setting IN ARRAY ARRAY['array_nulls = off', 'DateStyle = German', 'lock_timeout = 1',
        'default_transaction_isolation = serializable', 'extra_float_digits = -15', 'synchronous_commit = off']
      LOOP EXECUTE format('ALTER DATABASE %I SET ', current_database()) || setting; END LOOP; END $$`);
    store = await startStoreOn(database);
    const plants = Array.from({ length: 20 }, (_, id) => ({ body: `{"id":${id},"name":"NULL"}` }));
    const answers = await createTogether(store.port, [...plants, ...plants]);
    expect(answers.map((answer) => answer?.status).sort()).toEqual(plants.map(() => 200).concat(plants.map(() => 400)));
    const rows = await database.query('SELECT DISTINCT name, tag, idempotency_key, created_by FROM plants');
    expect(rows).toEqual([{ name: 'NULL', tag: null, idempotency_key: null, created_by: 'static' }]);
  });

  it('should be ready without the language plpgsql, which no create needs', async () => {
    await database.query('REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC; CREATE ROLE no_language LOGIN PASSWORD $$no$$');
    await database.query(
      'GRANT SELECT, INSERT ON plants TO no_language; GRANT SELECT ON _prisma_migrations TO no_language',
    );
    store = await startStoreOn({
      ...database,
      url: Object.assign(new URL(database.url), { username: 'no_language', password: 'no' }).href,
    });
    expect(await store.post('{"id":100,"name":"Rose"}')).toMatchObject({ status: 200 });
    expect((await fetch(`http://127.0.0.1:${store.managementPort}/readyz`)).status).toBe(200);
    await database.query('DROP OWNED BY no_language; DROP ROLE no_language');
  });
});

describe(PrismaService.name, () => {
  it('should keep no values of earlier statements in memory', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const pool = new UrlPool({ url: database.url, size: 1 });
    const prisma = new PrismaService(pool);
    const send = (): Promise<unknown> => prisma.queryPrepared(Prisma.sql`SELECT length(${'x'.repeat(2 ** 20)}::text)`);
    await send();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let left = 100; left > 0; left -= 1) await send();
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30 * 2 ** 20);
    await pool.onApplicationShutdown();
  });
});
