import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type DatabaseOptions, MigrationError } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';
import { rejectionOf } from '../support/rejection.js';
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

describe('Tables of the store', () => {
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeAll(async () => {
    const server = await createTestDatabase({ migrated: false });
    await server.query(`CREATE ROLE ${STRANGER}`);
    await server.drop();
  });
  beforeEach(async () => {
    database = await createTestDatabase();
    await database.query(`GRANT CREATE ON SCHEMA public TO ${STRANGER}`);
  });
  afterEach(async () => {
    await endPool(pool);
    await database.drop();
  });
  afterAll(async () => {
    const server = await createTestDatabase({ migrated: false });
    await server.query(`DROP ROLE ${STRANGER}`);
    await server.drop();
  });

  /** The same database by a URL and by a pool. */
  function sources(options = ''): DatabaseOptions[] {
    const url = new URL(database.url);
    if (options !== '') url.searchParams.set('options', options);
    pool = new pg.Pool({ connectionString: database.url, options });
    return [{ url: url.href }, { pool }];
  }
  const run = (command: string) => outcomeOfCommandLine(command, { DATABASE_URL: database.url });
  async function expectRefused(message: RegExp): Promise<void> {
    for (const source of sources()) {
      const error = await rejectionOf(Guest.start(source));
      expect(error).toBeInstanceOf(MigrationError);
      expect(error).toMatchObject({ code: 'refused', message: expect.stringMatching(message) });
    }
    for (const [command, code] of [
      ['migrate', 1],
      ['token list', 1],
      ['serve --check', 78],
    ] as const) {
      const { stderr, ...outcome } = await run(command);
      expect([command, outcome.code, stderr]).toEqual([command, code, expect.stringMatching(message)]);
    }
  }
  async function expectUsed(): Promise<void> {
    expect(await run('migrate')).toMatchObject({ code: 0, stderr: '' });
    for (const [id, source] of sources().entries()) {
      const guest = await Guest.start(source);
      await guest.expectCreated(id);
      await guest.stop();
    }
  }

  it.each<[string, string, RegExp]>([
    ...TABLES.map((table): [string, string, RegExp] => [
      `${table} belongs to a stranger`,
      `ALTER TABLE ${table} OWNER TO ${STRANGER}`,
      RegExp(`public\\.${table} belongs to the role ${STRANGER}, .* Run ALTER TABLE .* OWNER TO \\w+$`, 'm'),
    ]),
    [
      'their owner comes with PostgreSQL',
      'ALTER TABLE plants OWNER TO pg_monitor',
      /plants belongs to the role pg_monitor/,
    ],
    ['a view is in the place of one', VIEW, /public\._prisma_migrations should be a table, and is not\. Remove it/],
    [
      'a crash would empty plants',
      'ALTER TABLE plants SET UNLOGGED',
      /crash .* empty public\.plants\. Run ALTER TABLE public\.plants SET LOGGED$/m,
    ],
    ['a crash would empty tokens', 'ALTER TABLE access_tokens SET UNLOGGED', /empty public\.access_tokens\. Run/],
    [
      'partitions have these faults',
      `${PARTITIONED}; ALTER TABLE plants_0 SET UNLOGGED; ALTER TABLE plants_1 OWNER TO ${STRANGER}`,
      /empty public\.plants_0\. .* SET LOGGED\. public\.plants_1 belongs to the role/,
    ],
  ])('should be refused before any is read, with what to run, if %s', async (_, change, message) => {
    await database.query(change);
    await expectRefused(message);
  });

  it.each<[string, (name: string) => string]>([
    ['are partitioned', () => PARTITIONED],
    ['belong to the owner of the database', (name) => `ALTER DATABASE ${name} OWNER TO ${STRANGER}`],
    ['belong to the owner of the schema', () => `ALTER SCHEMA public OWNER TO ${STRANGER}`],
    ['belong to a role that this one is a member of', () => `GRANT ${STRANGER} TO CURRENT_USER`],
    ['belong to a superuser', () => `ALTER ROLE ${STRANGER} SUPERUSER`],
  ])('should be used if they %s', async (_, change) => {
    const owned = TABLES.map((table) => `ALTER TABLE ${table} OWNER TO ${STRANGER}`).join('; ');
    const sql = change(pg.escapeIdentifier(new URL(database.url).pathname.slice(1)));
    await database.query(sql === PARTITIONED ? sql : `${owned}; ${sql}`);
    await expectUsed();
    await database.query(`REVOKE ${STRANGER} FROM CURRENT_USER; ALTER ROLE ${STRANGER} NOSUPERUSER`);
  });

  it.each([
    ['public, pg_catalog', false],
    ['pg_catalog, public', true],
    ['pg_temp, public', true],
  ])('should be refused if the search_path names pg_catalog behind another schema: %s', async (path, isUsed) => {
    for (const source of sources(`-c search_path=${path.replaceAll(' ', '\\ ')}`)) {
      const start = Guest.start(source);
      if (isUsed) await (await start).stop();
      else await expect(start).rejects.toThrow(/the search_path \{public,pg_catalog\} names pg_catalog behind/);
    }
  });
});
