import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { Migrator } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/host.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';

const STRANGER = `stranger_${randomBytes(4).toString('hex')}`;
const TABLES = ['plants', 'access_tokens', '_prisma_migrations'];
const PARTITIONED = `DROP TABLE plants; CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text, idempotency_key text,
    created_at timestamptz NOT NULL DEFAULT now(), created_by text, write_id bigint) PARTITION BY HASH (id);
  CREATE TABLE "the first" PARTITION OF plants FOR VALUES WITH (MODULUS 2, REMAINDER 0) PARTITION BY HASH (id);
  CREATE TABLE plants_0 PARTITION OF "the first" FOR VALUES WITH (MODULUS 1, REMAINDER 0);
  CREATE TABLE plants_1 PARTITION OF plants FOR VALUES WITH (MODULUS 2, REMAINDER 1)`;
const VIEW = `ALTER TABLE _prisma_migrations RENAME TO gone; SET ROLE ${STRANGER};
  CREATE FUNCTION trap() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; END $$;
  CREATE VIEW _prisma_migrations AS SELECT trap() AS migration_name, now() AS finished_at, now() AS started_at,
    null AS rolled_back_at, trap() AS checksum`;
const STRANGERS = `public\\.plants belongs to the role ${STRANGER}, .* Run ALTER TABLE .* OWNER TO \\w+$`;

describe('Tables of the store', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let migrator: Migrator;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    await database.query(`CREATE ROLE ${STRANGER}`);
    pool = new pg.Pool({ connectionString: database.url });
    migrator = new Migrator({ url: database.url });
  });
  beforeEach(async () => {
    await database.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO ${STRANGER}`);
    await migrator.migrate();
  });
  afterAll(async () => {
    await database.query(`DROP OWNED BY ${STRANGER}; DROP ROLE ${STRANGER}`);
    await endPool(pool);
    await database.drop();
  });

  it.each<[string, string, RegExp]>([
    ...TABLES.map((table): [string, string, RegExp] => [
      `${table} belongs to a stranger`,
      `ALTER TABLE ${table} OWNER TO ${STRANGER}`,
      RegExp(STRANGERS.replace('plants', table)),
    ]),
    ['its owner comes with PostgreSQL', 'ALTER TABLE plants OWNER TO pg_monitor', /belongs to the role pg_monitor/],
    ['a view is in the place of one', VIEW, /public\._prisma_migrations should be a table, and is not\. Remove it/],
    [
      'a crash would empty plants',
      'ALTER TABLE plants SET UNLOGGED',
      /crash .* empty public\.plants\. Run ALTER TABLE public\.plants SET LOGGED$/,
    ],
    ['a crash would empty tokens', 'ALTER TABLE access_tokens SET UNLOGGED', /empty public\.access_tokens\. Run/],
    [
      'partitions have these faults',
      `${PARTITIONED}; ALTER TABLE plants_0 SET UNLOGGED; ALTER TABLE plants_1 OWNER TO ${STRANGER}`,
      /empty public\.plants_0\. .* SET LOGGED\. public\.plants_1 belongs to the role/,
    ],
  ])('should be refused before any is read, with what to run, if %s', async (_, change, message) => {
    await database.query(change);
    const refusal = { code: 'refused', message: expect.stringMatching(message) };
    await expect(migrator.migrate()).rejects.toMatchObject(refusal);
  });

  it('should be refused by all that use them', async () => {
    const message = RegExp(STRANGERS, 'm');
    const { url } = database;
    await database.query(`ALTER TABLE plants OWNER TO ${STRANGER}`);
    for (const source of [{ url }, { pool }]) await expect(Guest.start(source)).rejects.toThrow(message);
    for (const [command, code] of [
      ['migrate', 1],
      ['token list', 1],
      ['serve --check', 78],
    ] as const) {
      const { stderr, ...outcome } = await outcomeOfCommandLine(command, { DATABASE_URL: url });
      expect([command, outcome.code, stderr]).toEqual([command, code, expect.stringMatching(message)]);
    }
  });

  it.each<[string, (name: string) => string]>([
    ['the owner of the database', (name) => `ALTER DATABASE ${name} OWNER TO ${STRANGER}`],
    ['the owner of the schema', () => `ALTER SCHEMA public OWNER TO ${STRANGER}`],
    ['a role that this one is a member of', () => `GRANT ${STRANGER} TO CURRENT_USER`],
    ['a superuser', () => `ALTER ROLE ${STRANGER} SUPERUSER`],
  ])('should be used if they belong to %s', async (_, change) => {
    const name = pg.escapeIdentifier(new URL(database.url).pathname.slice(1));
    for (const table of TABLES) await database.query(`ALTER TABLE ${table} OWNER TO ${STRANGER}`);
    await database.query(change(name));
    expect(await migrator.migrate()).toEqual([]);
    await database.query(`REVOKE ${STRANGER} FROM CURRENT_USER; ALTER ROLE ${STRANGER} NOSUPERUSER;
      ALTER DATABASE ${name} OWNER TO CURRENT_USER`);
  });

  const startWith = (searchPath: string): Promise<Guest> => {
    const url = new URL(database.url);
    url.searchParams.set('options', `-c search_path=${searchPath}`);
    return Guest.start({ url: url.href });
  };

  it('should be used if they are partitioned, and with a search_path whose first schema is for temporary tables', async () => {
    await database.query(PARTITIONED);
    const guest = await startWith('pg_temp,public');
    for (const id of [1, 2, 3]) await guest.expectCreated(id);
    await guest.stop();
  });

  it('should be refused if the search_path names pg_catalog behind another schema', async () => {
    const refusal = /the search_path \{public,pg_catalog\} names pg_catalog behind/;
    await expect(startWith('public,pg_catalog')).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringMatching(refusal),
    });
  });
});
