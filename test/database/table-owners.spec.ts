import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type DatabaseOptions, Migrator } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';
import { rejectionOf } from '../support/rejection.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';

const TABLES = ['_prisma_migrations', 'access_tokens', 'plants'];
const NOBODYS = 'what belongs to other roles';
const PASSWORD = 'a-password-of-the-tests';

/** As Prisma makes it. */
const HISTORY = `CREATE TABLE _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`;

describe('tables of other roles', () => {
  const suffix = randomBytes(4).toString('hex');
  const stranger = `the "stranger"\n\`x\` ${suffix}`;
  const owner = `owner_${suffix}`;
  const strangers = pg.escapeIdentifier(stranger);
  let database: TestDatabase;

  /** With tables or without; both roles may make things in the schema. */
  async function open(migrated: boolean): Promise<void> {
    database = await createTestDatabase({ migrated });
    await database.query(`GRANT CREATE ON SCHEMA public TO ${strangers}, ${owner}`);
  }
  beforeEach(async () => {
    const server = await createTestDatabase({ migrated: false });
    await server.query(
      `CREATE ROLE ${strangers} LOGIN PASSWORD '${PASSWORD}'; CREATE ROLE ${owner} LOGIN PASSWORD '${PASSWORD}'`,
    );
    await server.drop();
  });
  afterEach(async () => {
    await database.drop();
    const server = await createTestDatabase({ migrated: false });
    await server.query(`DROP ROLE ${owner}; DROP ROLE ${strangers}`);
    await server.drop();
  });

  const as = (role: string, sql: string): Promise<unknown> => database.query(`SET ROLE ${role}; ${sql}`);
  const urlAs = (role: string): string => {
    const url = new URL(database.url);
    url.username = encodeURIComponent(role);
    url.password = PASSWORD;
    return url.href;
  };
  const migrate = (url = database.url, ...options: string[]) =>
    outcomeOfCommandLine(['migrate', ...options], { DATABASE_URL: url });
  const giveTables = async (to: string, tables = TABLES): Promise<void> => {
    for (const table of tables) await database.query(`ALTER TABLE ${table} OWNER TO ${to}`);
  };
  /** A trap which makes its owner a superuser, if one springs it. */
  const trap = (
    returns: string,
    result: string,
  ): string => `CREATE FUNCTION trap() RETURNS ${returns} LANGUAGE plpgsql AS
    $trap$ BEGIN EXECUTE pg_catalog.format('ALTER ROLE %I SUPERUSER', ${pg.escapeLiteral(stranger)}); RETURN ${result}; END $trap$`;
  const expectNoSuperuser = async (): Promise<void> => {
    expect(await database.query('SELECT rolsuper FROM pg_roles WHERE rolname = $1', [stranger])).toEqual([
      { rolsuper: false },
    ]);
  };

  it('should not run a trigger that waits in the history for a superuser', async () => {
    await open(false);
    await as(
      strangers,
      `${HISTORY}; ${trap('trigger', 'NEW')};
      CREATE TRIGGER sprung BEFORE INSERT ON _prisma_migrations FOR EACH ROW EXECUTE FUNCTION trap()`,
    );
    const { code, stdout, stderr } = await migrate();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^plant-store: schema public of database /);
    expect(stderr).toContain('table public._prisma_migrations: "the ""stranger""\\u000a`x` ');
    expect(stderr).toContain('trigger sprung on public._prisma_migrations: ');
    expect(stderr).toContain('--trust-owner ROLE');
    await expectNoSuperuser();
    expect(await database.query(`SELECT to_regclass('plants') AS plants`)).toEqual([{ plants: null }]);
  });

  it('should not read a view in the place of the history', async () => {
    await open(false);
    await as(
      strangers,
      `${trap('text', "''")};
      CREATE VIEW _prisma_migrations AS SELECT trap() AS migration_name, now() AS finished_at, now() AS started_at, now() AS rolled_back_at`,
    );
    const { code, stderr } = await migrate();
    expect([code, stderr]).toEqual([1, expect.stringContaining('view public._prisma_migrations: ')]);
    await expectNoSuperuser();
  });

  it('should be refused with a copied history, warned of at the start, and taken if the role is trusted', async () => {
    await open(true);
    await giveTables(strangers);
    const { code, stderr } = await migrate();
    expect(code).toBe(1);
    for (const table of TABLES) expect(stderr).toContain(`table public.${table}: `);
    const migrator = new Migrator({ url: database.url });
    expect(await rejectionOf(migrator.migrate())).toMatchObject({ name: 'MigrationError', code: 'foreign' });

    const pool = new pg.Pool({ connectionString: database.url });
    const sources: DatabaseOptions[] = [{ url: database.url }, { pool }];
    for (const source of sources) {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
      const guest = await Guest.start(source);
      const warnings = warn.mock.calls
        .map(([message]) => String(message))
        .filter((text) => text.includes('belongs to other roles'));
      warn.mockRestore();
      await guest.expectCreated(sources.indexOf(source));
      await guest.stop();
      expect(warnings).toEqual([expect.stringContaining('table public.plants: ')]);
    }
    await pool.end();

    expect((await migrate(database.url, '--trust-owner', owner)).code).toBe(1);
    expect(await migrate(database.url, '--trust-owner', owner, '--trust-owner', stranger)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await new Migrator({ url: database.url, trustOwners: [stranger] }).migrate()).toEqual([]);
  });

  it.each([
    ['a trigger', 'CREATE TRIGGER t BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION hook()', 'trigger t on'],
    ['a statement trigger', 'CREATE TRIGGER t AFTER UPDATE ON access_tokens EXECUTE FUNCTION hook()', 'trigger t on'],
    ['a rule', 'CREATE RULE r AS ON INSERT TO access_tokens DO ALSO SELECT called()', 'rule r on'],
    [
      'a condition',
      'CREATE TRIGGER t AFTER INSERT ON plants FOR EACH ROW WHEN (called()) EXECUTE FUNCTION own()',
      't on',
    ],
    ['a default', 'ALTER TABLE _prisma_migrations ALTER logs SET DEFAULT called()::text', 'default value for'],
    ['an index', 'CREATE INDEX i ON plants ((called(id)))', 'index public.i'],
    ['a policy', 'CREATE POLICY p ON plants USING (called())', 'policy p on'],
    ['a check', 'ALTER TABLE plants ADD CONSTRAINT c CHECK (called())', 'table constraint c on'],
    ['an operator', 'CREATE RULE r AS ON INSERT TO plants DO ALSO SELECT NEW.id === NEW.id', 'rule r on'],
  ])('should be known by %s that calls a function of another role', async (_, sql, where) => {
    await open(true);
    await as(
      strangers,
      `CREATE FUNCTION hook() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
      CREATE FUNCTION called() RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
      CREATE FUNCTION called(bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
      CREATE FUNCTION same(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
      CREATE OPERATOR === (FUNCTION = same, LEFTARG = bigint, RIGHTARG = bigint)`,
    );
    await database.query(`CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`);
    await database.query(sql);
    const { code, stderr } = await migrate();
    expect([code, stderr]).toEqual([1, expect.stringContaining(where)]);
    expect(stderr).not.toContain('table public.plants:');
  });

  it('should not be hidden by an owner that PostgreSQL comes with', async () => {
    await open(true);
    await giveTables('pg_monitor', ['plants']);
    expect(await migrate()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('table public.plants: pg_monitor.') as unknown,
    });
    await giveTables('pg_database_owner', ['plants']);
    expect(await migrate()).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    ['token list', 1],
    ['serve --check', 78],
  ])('should not run a view in their place, by %s', async (command, expected) => {
    await open(false);
    await as(strangers, trap('text', "'1'"));
    for (const [table, columns] of Object.entries({
      _prisma_migrations:
        'trap() AS migration_name, now() AS finished_at, now() AS started_at, null AS rolled_back_at, trap() AS checksum',
      plants: 'trap() AS id, trap() AS name',
    }))
      await as(strangers, `CREATE VIEW ${table} AS SELECT ${columns}`);
    const { code, stdout, stderr } = await outcomeOfCommandLine(command, { DATABASE_URL: database.url });
    expect([code, stderr]).toEqual([
      expected,
      expect.stringMatching(/_prisma_migrations, plants should be a table, and is not/),
    ]);
    expect(stdout.includes(NOBODYS)).toBe(command === 'serve --check');
    await expectNoSuperuser();
  });

  it('should not be granted on a sequence that was there before', async () => {
    await open(false);
    await as(strangers, 'CREATE SEQUENCE access_tokens_id_seq');
    expect(await migrate()).toMatchObject({ code: 1, stderr: expect.stringContaining(NOBODYS) });
  });

  it('should not be seen in triggers of a superuser, of the owner, or in views that others have made of them', async () => {
    await open(false);
    expect((await migrate(urlAs(owner))).code).toBe(0);
    for (const [name, role] of Object.entries({ dba: 'CURRENT_USER', own: owner })) {
      await database.query(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
        ALTER FUNCTION ${name}() OWNER TO ${role}`);
      for (const table of TABLES)
        await database.query(
          `CREATE TRIGGER ${name} BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
        );
    }
    await database.query(`GRANT SELECT ON plants TO ${strangers}`);
    await as(
      strangers,
      `CREATE FUNCTION seen(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT $1';
      CREATE VIEW seen AS SELECT seen(id) FROM plants`,
    );
    expect(await migrate(urlAs(owner))).toMatchObject({ code: 0, stderr: '' });
  });

  describe('of an owner', () => {
    beforeEach(async () => {
      await open(true);
      await giveTables(owner);
    });
    const name = (): string => pg.escapeIdentifier(new URL(database.url).pathname.slice(1));

    it.each<[string, () => Promise<unknown>]>([
      ['which owns the database', () => database.query(`ALTER DATABASE ${name()} OWNER TO ${owner}`)],
      ['which owns the schema', () => database.query(`ALTER SCHEMA public OWNER TO ${owner}`)],
      ['whose member migrates', () => database.query(`GRANT ${owner} TO CURRENT_USER`)],
    ])('should be taken of one %s', async (_, change) => {
      expect(await migrate()).toMatchObject({ code: 1, stderr: expect.stringContaining(NOBODYS) });
      await change();
      expect(await migrate()).toMatchObject({ code: 0, stderr: '' });
    });

    it('should be refused if one who may grant it has made the role that migrates its member', async () => {
      await database.query(`GRANT ${owner} TO ${strangers} WITH ADMIN OPTION`);
      await as(strangers, `GRANT ${owner} TO ${new URL(database.url).username}`);
      expect(await migrate()).toMatchObject({ code: 1, stderr: expect.stringContaining(NOBODYS) });
    });

    it('should be refused if it has made others its members by itself, as it can in PostgreSQL 14', async () => {
      await database.query(`GRANT ${owner} TO CURRENT_USER`);
      await database.query(`SET allow_system_table_mods = on;
        UPDATE pg_auth_members SET grantor = roleid WHERE roleid = '${owner}'::regrole`);
      expect(await migrate()).toMatchObject({ code: 1, stderr: expect.stringContaining(NOBODYS) });
    });
  });
});
