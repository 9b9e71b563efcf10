import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type DatabaseOptions, MigrationError } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';
import { rejectionOf } from '../support/rejection.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';

const PARTITIONED = `DROP TABLE plants; CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text, idempotency_key text,
    created_at timestamptz NOT NULL DEFAULT now(), created_by text, write_id bigint) PARTITION BY HASH (id);
  CREATE TABLE "the first" PARTITION OF plants FOR VALUES WITH (MODULUS 2, REMAINDER 0) PARTITION BY HASH (id);
  CREATE TABLE plants_0 PARTITION OF "the first" FOR VALUES WITH (MODULUS 1, REMAINDER 0);
  CREATE TABLE plants_1 PARTITION OF plants FOR VALUES WITH (MODULUS 2, REMAINDER 1)`;

describe('Tables that are not safe to use', () => {
  const suffix = randomBytes(4).toString('hex');
  const stranger = `stranger_${suffix}`;
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await createTestDatabase();
    await database.query(`CREATE ROLE ${stranger}; GRANT CREATE ON SCHEMA public TO ${stranger}`);
    pool = new pg.Pool({ connectionString: database.url });
  });
  afterEach(async () => {
    await endPool(pool);
    await database.query(`DROP OWNED BY ${stranger} CASCADE; DROP ROLE ${stranger}`);
    await database.drop();
  });

  const migrate = () => outcomeOfCommandLine('migrate', { DATABASE_URL: database.url });
  const databaseName = (): string => pg.escapeIdentifier(new URL(database.url).pathname.slice(1));

  /** By a start with a URL and with a pool, and by `migrate`. */
  async function expectRefused(message: RegExp): Promise<void> {
    const sources: DatabaseOptions[] = [{ url: database.url }, { pool }];
    for (const source of sources) {
      const error = await rejectionOf(Guest.start(source));
      expect(error).toBeInstanceOf(MigrationError);
      expect(error).toMatchObject({ code: 'refused', message: expect.stringMatching(message) });
    }
    expect(await migrate()).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) as unknown });
  }
  async function expectUsed(): Promise<void> {
    expect(await migrate()).toMatchObject({ code: 0, stderr: '' });
    const guest = await Guest.start({ url: database.url });
    await guest.expectCreated(1);
    await guest.stop();
  }

  it.each(['plants', 'access_tokens', '_prisma_migrations'])(
    'should be refused if %s belongs to another role, with what to run',
    async (table) => {
      await database.query(`ALTER TABLE ${table} OWNER TO ${stranger}`);
      await expectRefused(
        new RegExp(`public\\.${table} belongs to the role ${stranger}, .* Run ALTER TABLE .* OWNER TO \\w+$`, 'm'),
      );
    },
  );

  it('should be refused if PostgreSQL comes with their owner', async () => {
    await database.query('ALTER TABLE plants OWNER TO pg_monitor');
    await expectRefused(/public\.plants belongs to the role pg_monitor/);
  });

  it.each<[string, () => string]>([
    ['owns the database', () => `ALTER DATABASE ${databaseName()} OWNER TO ${stranger}`],
    ['owns the schema', () => `ALTER SCHEMA public OWNER TO ${stranger}`],
    ['has this one as its member', () => `GRANT ${stranger} TO CURRENT_USER`],
    ['is a superuser', () => `ALTER ROLE ${stranger} SUPERUSER`],
  ])('should be used if their owner %s', async (_, change) => {
    for (const table of ['plants', 'access_tokens', '_prisma_migrations'])
      await database.query(`ALTER TABLE ${table} OWNER TO ${stranger}`);
    await database.query(change());
    await expectUsed();
    await database.query(
      `ALTER SCHEMA public OWNER TO CURRENT_USER; ALTER DATABASE ${databaseName()} OWNER TO CURRENT_USER`,
    );
  });

  it('should not run a view in their place', async () => {
    await database.query(`ALTER TABLE _prisma_migrations RENAME TO gone; SET ROLE ${stranger};
      CREATE FUNCTION trap() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; END $$;
      CREATE VIEW _prisma_migrations AS SELECT trap() AS migration_name, now() AS finished_at, now() AS started_at,
        null AS rolled_back_at, trap() AS checksum`);
    await expectRefused(/public\._prisma_migrations should be a table, and is not\. Remove it/);
    for (const [command, code] of [
      ['token list', 1],
      ['serve --check', 78],
    ] as const) {
      const outcome = await outcomeOfCommandLine(command, { DATABASE_URL: database.url });
      expect(outcome).toMatchObject({ code, stderr: expect.stringContaining('should be a table, and is not') });
    }
  });

  it.each(['plants', 'access_tokens'])('should be refused if a crash would empty %s', async (table) => {
    await database.query(`ALTER TABLE ${table} SET UNLOGGED`);
    await expectRefused(
      new RegExp(
        `a crash of PostgreSQL would empty public.${table}\\. Run ALTER TABLE public.${table} SET LOGGED$`,
        'm',
      ),
    );
    await database.query(`ALTER TABLE ${table} SET LOGGED`);
    await expectUsed();
  });

  it('should be found among partitions', async () => {
    await database.query(PARTITIONED);
    await expectUsed();
    await database.query(`ALTER TABLE plants_0 SET UNLOGGED; ALTER TABLE plants_1 OWNER TO ${stranger}`);
    await expectRefused(/empty public\.plants_0\. .* SET LOGGED\. public\.plants_1 belongs to the role/);
  });
});

describe('A search_path that names pg_catalog behind another schema', () => {
  it.each([
    ['public, pg_catalog', false],
    ['pg_catalog, public', true],
    ['pg_temp, public', true],
  ])('should be told from others: %s', async (path, isUsed) => {
    const database = await createTestDatabase();
    const pool = new pg.Pool({
      connectionString: database.url,
      options: `-c search_path=${path.replaceAll(' ', '\\ ')}`,
    });
    const url = new URL(database.url);
    url.searchParams.set('options', `-c search_path=${path.replaceAll(' ', '\\ ')}`);
    const sources: DatabaseOptions[] = [{ url: url.href }, { pool }];
    for (const source of sources) {
      const start = Guest.start(source);
      if (isUsed) await (await start).stop();
      else await expect(start).rejects.toThrow(/the search_path \{public,pg_catalog\} names pg_catalog behind/);
    }
    await endPool(pool);
    await database.drop();
  });
});
