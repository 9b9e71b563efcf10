import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { makeToken } from '../../src/auth/token-format.js';
import { Migrator } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { expectFailure, outcomeOfCommandLine, PlantStoreProcess } from '../support/service/process.js';
import { startStoreOn } from '../support/service/store.js';
import { bearer } from '../support/tokens/tokens.js';

const PASSWORD = 'a-password-of-the-tests';
const SUFFIX = randomBytes(4).toString('hex');
const OWNER = `plants_owner_${SUFFIX}`;
const SERVICE = `the "gardener's" ${SUFFIX}`;
const STRANGER = `stranger_${SUFFIX}`;
const QUOTED = pg.escapeIdentifier(SERVICE);

let database: TestDatabase;
let name: string;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
  name = new URL(database.url).pathname.slice(1);
  await database.query(`CREATE ROLE ${OWNER} LOGIN PASSWORD '${PASSWORD}';
    CREATE ROLE ${QUOTED} LOGIN PASSWORD '${PASSWORD}';
    CREATE ROLE ${STRANGER}`);
});
afterAll(async () => {
  const others = await createTestDatabase({ migrated: false });
  await database.drop();
  await others.query(`DROP ROLE ${OWNER}; DROP ROLE ${QUOTED}; DROP ROLE ${STRANGER}`);
  await others.drop();
});

describe('A database with one role that owns the tables and another one for the service', () => {
  let alone: Record<string, string>;
  let both: Record<string, string>;

  beforeAll(async () => {
    // The rights in public are those of PostgreSQL 15 and later.
    await database.query(`ALTER DATABASE ${name} OWNER TO ${OWNER}; ALTER SCHEMA public OWNER TO pg_database_owner;
      REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
    alone = { DATABASE_URL: urlAs(SERVICE), DATABASE_PASSWORD: PASSWORD };
    both = { ...alone, MIGRATION_DATABASE_URL: urlAs(OWNER), MIGRATION_DATABASE_PASSWORD: PASSWORD };
  });
  afterAll(() => database.query(`ALTER DATABASE ${name} OWNER TO CURRENT_USER`));

  const urlAs = (role: string, schema = 'public'): string => {
    const url = Object.assign(new URL(database.url), { username: encodeURIComponent(role), password: '' });
    url.searchParams.set('schema', schema);
    return url.href;
  };
  const asService = (sql: string): Promise<unknown> => database.query(`SET ROLE ${QUOTED}; ${sql}`);

  it('should be migrated by the owner, and not by the service', async () => {
    const stderr = expect.stringMatching(
      /permission denied for schema public\. Run it as the owner .*MIGRATION_DATABASE_URL/,
    );
    expect(await outcomeOfCommandLine('migrate', alone)).toMatchObject({ code: 1, stderr });
    const stdout = expect.stringContaining(`as ${OWNER}: applied`);
    expect(await outcomeOfCommandLine('migrate', both)).toMatchObject({ code: 0, stdout });
    const owners = `SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'`;
    expect(await database.query(owners)).toEqual([{ tableowner: OWNER }]);
  });

  it('should be used by the service, which also makes, lists and revokes tokens, and may do no more', async () => {
    const { stdout } = await outcomeOfCommandLine('token create gardener', both);
    const store = await startStoreOn({ ...database, url: urlAs(SERVICE) }, { DATABASE_PASSWORD: PASSWORD });
    const plants = [1, 1].map(() => store.post('{"id":1,"name":"Rose"}', bearer(stdout.trim())));
    expect((await Promise.all(plants)).map(({ status }) => status).sort()).toEqual([200, 400]);
    const readiness = async (): Promise<number> =>
      (await fetch(`http://127.0.0.1:${store.managementPort}/readyz`)).status;
    expect(await readiness()).toBe(200);
    // A create reads whether its id is taken.
    for (const right of ['INSERT', 'SELECT']) {
      await database.query(`REVOKE ${right} ON plants FROM ${QUOTED}`);
      expect(await readiness()).toBe(503);
      await database.query(`GRANT ${right} ON plants TO ${QUOTED}`);
    }
    await store.stop();
    expect(await database.query('SELECT FROM access_tokens WHERE last_used_at IS NOT NULL')).toHaveLength(1);
    for (const command of ['revoke gardener', 'list'])
      expect(await outcomeOfCommandLine(`token ${command}`, both)).toMatchObject({ code: 0 });
    for (const sql of [
      'DROP TABLE plants',
      'DELETE FROM plants',
      `UPDATE plants SET name = ''`,
      'CREATE TABLE leaves (id bigint)',
      'INSERT INTO _prisma_migrations SELECT FROM _prisma_migrations',
    ])
      await expect(asService(sql)).rejects.toThrow(/permission denied|must be owner/);
  });

  it('should be refused at the start if the service may not execute what a taken id needs', async () => {
    const [row] = await database.query<{ name: string }>(
      `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE prosrc = 'pg_logical_emit_message_text'`,
    );
    await database.query(`REVOKE EXECUTE ON FUNCTION ${row?.name} FROM PUBLIC`);
    const grant = `GRANT EXECUTE ON FUNCTION ${row?.name} TO ${QUOTED}`;
    const starting = startStoreOn({ ...database, url: urlAs(SERVICE) }, { DATABASE_PASSWORD: PASSWORD });
    await expect(starting).rejects.toThrow(`Run ${grant}`);
    await database.query(grant);
    const again = await startStoreOn({ ...database, url: urlAs(SERVICE) }, { DATABASE_PASSWORD: PASSWORD });
    expect((await again.post('{"id":1,"name":"Rose"}')).body).toMatch('40901');
    await again.stop();
  });

  it('should be told who makes the grants if the service may not read its history', async () => {
    await database.query(`REVOKE SELECT ON _prisma_migrations FROM ${QUOTED}`);
    const starting = startStoreOn({ ...database, url: urlAs(SERVICE) }, { DATABASE_PASSWORD: PASSWORD });
    await expect(starting).rejects.toThrow(/permission denied .* Run `plant-store migrate` as the owner/);
    await database.query(`GRANT SELECT ON _prisma_migrations TO ${QUOTED}`);
  });

  it('should have the rights of the service again after each run, and in each schema', async () => {
    await database.query(`REVOKE ALL ON plants, access_tokens FROM ${QUOTED}`);
    const variables = { DATABASE_PASSWORD: PASSWORD, STORAGE_TIMEOUT: '1000' };
    await using service = await PlantStoreProcess.serve(urlAs(SERVICE), variables);
    expect((await service.post('{}', bearer(makeToken())))?.body).toMatch('50300');
    await service.printed(/Access tokens cannot be looked up: permission denied .*plant-store migrate/);
    for (const [command, url] of [
      ['migrate', urlAs(SERVICE)],
      ['migrate', urlAs(SERVICE, 'house')],
      ['migrate --schema garden', urlAs(SERVICE)],
      // A pooler may have names of its own.
      ['migrate', urlAs('plants.tenant')],
    ] as const)
      expect(await outcomeOfCommandLine(command, { ...both, DATABASE_URL: url })).toMatchObject({
        code: 0,
        stderr: '',
      });
    for (const schema of ['public', 'house', 'garden'])
      await asService(`INSERT INTO ${schema}.plants (id, name) VALUES (2, 'Rose')`);
    await asService('SELECT FROM access_tokens');
  });
});

describe('Tables of the store', () => {
  beforeEach(async () => {
    await database.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    await migrate();
  });

  const migrate = (url = database.url): Promise<string[]> => new Migrator({ url }).migrate();

  /** Hosts, migrations and commands refuse it. */
  async function expectRefusedByAll(url: string, message: RegExp): Promise<void> {
    const pool = new pg.Pool({ connectionString: url });
    for (const source of [{ url }, { pool }]) await expect(Host.on(source)).rejects.toThrow(message);
    await endPool(pool);
    await expect(migrate(url)).rejects.toMatchObject({ code: 'refused', message: expect.stringMatching(message) });
    await expectFailure('token list', { DATABASE_URL: url }, message);
  }

  it('should be refused, with what to run, if a crash would empty one, or one belongs to a stranger', async () => {
    await database.query(`ALTER TABLE access_tokens SET UNLOGGED; ALTER TABLE plants OWNER TO ${STRANGER}`);
    const unlogged = 'empty public\\.access_tokens\\. Run .* SET LOGGED';
    const foreign = `public\\.plants belongs to the role ${STRANGER}, .* OWNER TO \\w+$`;
    await expectRefusedByAll(database.url, RegExp(`${unlogged}\\. ${foreign}`, 'm'));
  });

  it('should be used in a schema where others may create, with a warning that has what to run', async () => {
    await database.query(`GRANT CREATE ON SCHEMA public TO PUBLIC, ${STRANGER}`);
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    const warned = async (run: () => Promise<unknown>): Promise<string[]> => {
      warn.mockClear();
      await run();
      const texts = warn.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('others may create'));
      return texts.map((text) => text.replace(/.* Run /, ''));
    };
    const start = async (): Promise<void> => (await Host.on({ url: database.url })).stop();
    const revokes = ['PUBLIC', STRANGER].map((role) => `REVOKE CREATE ON SCHEMA public FROM ${role}`);
    for (const run of [migrate, start]) expect(await warned(run)).toEqual(revokes);
    for (const revoke of revokes) await database.query(revoke);
    for (const run of [migrate, start]) expect(await warned(run)).toEqual([]);
    warn.mockRestore();
  });

  it('should be refused in a database that cannot hold every text, with the SQL for another one', async () => {
    const [latin, right] = [`${name}_latin`, `${name}_right`];
    const urlOf = (pathname: string): string => Object.assign(new URL(database.url), { pathname }).href;
    await database.query(`CREATE DATABASE ${latin} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    const advice = `CREATE DATABASE name ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`;
    await expectRefusedByAll(urlOf(latin), RegExp(`as its encoding is LATIN1\\. Make another one: ${advice}$`, 'm'));
    await database.query(advice.replace('name', right));
    await migrate(urlOf(right));
    for (const made of [latin, right]) await database.query(`DROP DATABASE ${made} WITH (FORCE)`);
  });

  it.each([
    ['the owner of the schema', `ALTER SCHEMA public OWNER TO ${STRANGER}`, ''],
    ['a role that this one is in', `GRANT ${STRANGER} TO CURRENT_USER`, `REVOKE ${STRANGER} FROM CURRENT_USER`],
  ])('should be used if they belong to %s', async (_, change, undo) => {
    for (const table of ['plants', 'access_tokens', '_prisma_migrations'])
      await database.query(`ALTER TABLE ${table} OWNER TO ${STRANGER}`);
    await database.query(change);
    expect(await migrate()).toEqual([]);
    await database.query(undo);
  });
});
