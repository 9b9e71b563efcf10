import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { PlantsHealth, PlantsService } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';
import { outcomeOfCommandLine } from '../support/service/process.js';
import { startStoreOn } from '../support/service/store.js';
import { bearer } from '../support/tokens/tokens.js';
import { until } from '../support/until.js';

const suffix = randomBytes(4).toString('hex');
/** Owns the hostile schema. */
const STRANGER = `plants_stranger_${suffix}`;
/** The role of the service. */
const TENANT = `plants_tenant_${suffix}`;
const PASSWORD = 'a-password-of-the-tests';
/** Of arguments and operands. */
const TYPES = (
  'bool "char" name int2 int4 int8 float4 float8 numeric text varchar bytea oid regclass ' +
  'timestamptz timestamp date interval _text _int4 _int8'
).split(' ');

/** More than are in the code of the store. */
const OPERATORS = '= <> < <= > >= + - * / % || ~ !~ ~~ !~~ -> ->> @> &&'.split(' ');

/** The functions of PostgreSQL in the code of the store, and some that are none of it. */
async function functionsInSources(database: TestDatabase): Promise<string[]> {
  const folder = new URL('../../src/', import.meta.url);
  const files = await readdir(folder, { recursive: true });
  const sources = files.filter((name) => /^(?!.*generated).*(?<!\.spec)\.ts$/.test(name));
  const code = (await Promise.all(sources.map((name) => readFile(new URL(name, folder), 'utf8')))).join('\n');
  const sql = `SELECT DISTINCT proname::text AS name FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY ($1)`;
  const words = code.match(/(?<![.\w$])[a-z_][a-z_0-9]*(?=\()/g);
  return (await database.query<{ name: string }>(sql, [words])).map(({ name }) => name);
}

/**
 * Overloads, one of which is nearer than the catalogue's wherever the types of arguments are not exactly its own. Each
 * fails, and nobody else may execute it: then even one that is planned and not reached fails.
 */
function overloadsOf(functions: readonly string[]): string[] {
  const overload = (name: string, types: string, result = 'text'): string =>
    `CREATE FUNCTION hostile.${pg.escapeIdentifier(name)}(${types}) RETURNS ${result}
      LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION SQLSTATE ''EVIL1''; END'`;
  const pairs = TYPES.flatMap((one) => TYPES.map((other): [string, string] => [one, other]));
  return [
    'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC',
    ...functions.flatMap((name) => [
      ...['', 'VARIADIC text[]', 'text, VARIADIC anyarray'].map((types) => overload(name, types)),
      // The other one is VARIADIC.
      ...TYPES.filter((type) => type !== '_text').map((type) => overload(name, type, type)),
      ...pairs.map(([one, other]) => overload(name, `${one}, ${other}`, one)),
    ]),
    ...pairs.flatMap(([one, other]) => [
      ...[...new Set(['bool', one])].map((result) => overload(`to ${result}`, `${one}, ${other}`, result)),
      ...OPERATORS.map((name) => {
        const result = /[=<>~]/.test(name) ? 'bool' : one;
        const procedure = `hostile.${pg.escapeIdentifier(`to ${result}`)}`;
        return `CREATE OPERATOR hostile.${name} (LEFTARG = ${one}, RIGHTARG = ${other}, FUNCTION = ${procedure})`;
      }),
    ]),
  ];
}

describe('A database with the functions, operators and tables of a stranger first on the search_path', () => {
  let database: TestDatabase;
  let url: string;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    const { pathname, username } = new URL(database.url);
    const [name = '', owner = ''] = [pathname.slice(1), username].map((text) => pg.escapeIdentifier(text));
    const tables = ['plants', 'access_tokens', '_prisma_migrations'].map((table) => `CREATE TABLE hostile.${table} ()`);
    const overloads = overloadsOf(await functionsInSources(database));
    await database.query(`CREATE ROLE ${STRANGER}; CREATE ROLE ${TENANT} LOGIN PASSWORD '${PASSWORD}' IN ROLE ${owner};
      CREATE SCHEMA hostile; GRANT ALL ON SCHEMA hostile TO ${STRANGER}; GRANT USAGE ON SCHEMA hostile TO PUBLIC;
      ALTER DATABASE ${name} SET search_path = hostile, public;
      BEGIN; SET LOCAL search_path = pg_catalog; SET LOCAL ROLE ${STRANGER};
      ${[...tables, ...overloads].join('; ')};
      COMMIT`);
    url = Object.assign(new URL(database.url), { username: TENANT, password: PASSWORD }).href;
    await run('migrate', { MIGRATION_DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await database.drop();
    const server = await createTestDatabase({ migrated: false });
    await server.query(`DROP ROLE ${STRANGER}; DROP ROLE ${TENANT}`);
    await server.drop();
  });

  async function run(command: string, owner: Record<string, string> = {}): Promise<string> {
    const { code, stdout, stderr } = await outcomeOfCommandLine(command, { DATABASE_URL: url, ...owner });
    expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
    return stdout.trim();
  }

  it('should take them for PostgreSQL where types are not exact', async () => {
    const code = expect.stringMatching(/^(?:EVIL1|42501)$/);
    for (const sql of ['SELECT 1.5 * 1000', `SELECT encode('a', 'hex')`])
      await expect(database.query(`SET ROLE ${TENANT}; ${sql}`)).rejects.toMatchObject({ code });
  });

  it('should be used by a service and commands as if they were not there', async () => {
    const store = await startStoreOn({ ...database, url });
    expect((await fetch(`http://127.0.0.1:${store.managementPort}/readyz`)).status).toBe(200);
    const headers = { ...bearer(await run('token create first')), 'Idempotency-Key': 'key' };
    const creates = [1, -1, 2, 3, 1, 2 ** 40].map((id) => store.post(`{"id":${id},"name":"Rose"}`, headers));
    for (const answer of await Promise.all(creates)) expect(answer).toMatchObject({ status: 200 });
    expect((await store.post('{"id":1,"name":"Oak"}', headers)).body).toMatch('40902');
    const expired = bearer(await run('token create brief'));
    await database.query(`UPDATE public.access_tokens SET expires_at = now() WHERE name = 'brief'::text`);
    expect((await store.post('{}', expired)).body).toMatch('40101');
    const used = 'SELECT FROM public.access_tokens WHERE last_used_at IS NOT NULL';
    await until(async () => (await database.query(used)).length > 0);
    await store.stop();
    for (const command of ['create second --expires 90d', 'revoke second', 'list']) await run(`token ${command}`);
  });

  it('should be refused if the search_path names pg_catalog behind another schema', async () => {
    const pool = new pg.Pool({ connectionString: url, options: '-c search_path=public,pg_catalog' });
    await expect(Host.on({ pool })).rejects.toThrow('{public,pg_catalog} names pg_catalog behind');
    await endPool(pool);
  });

  it('should be used so on the connections of a host, which keep their search_path', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const host = await Host.on({ pool });
    await host.app.get(PlantsHealth, { strict: false }).check();
    await Promise.all([200, 201, 200].map((id) => host.expectCreated(id, 'key')));
    const transaction = await pool.connect();
    await transaction.query('BEGIN');
    const plants = host.app.get(PlantsService, { strict: false });
    for (const id of [201n, 202n]) await plants.create({ id, name: 'Rose' }, { transaction, idempotencyKey: 'key' });
    await transaction.query('COMMIT');
    expect((await transaction.query('SHOW search_path')).rows).toEqual([{ search_path: 'hostile, public' }]);
    transaction.release();
    await host.stop();
    await endPool(pool);
    expect(await database.query('SELECT FROM public.plants WHERE id >= 200::int8 AND id < 300::int8')).toHaveLength(3);
  });
});
