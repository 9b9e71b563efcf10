import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { PlantsHealth, PlantsModule, PlantsService } from '../../src/index.js';
import { createStandInCitus, pretendDistribution } from '../support/database/citus-cluster.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { createTogether } from '../support/http/request.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { startStoreOn } from '../support/service/store.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const suffix = randomBytes(4).toString('hex');
/** Owns the hostile schema. */
const STRANGER = `plants_stranger_${suffix}`;
/** The role of the service. */
const TENANT = `plants_tenant_${suffix}`;
const PASSWORD = 'a-password-of-the-tests';

/** Each has a nearer match than the catalogue's. */
const UNSAFE = [
  'SELECT 1.5 * 1000',
  `SELECT 2 * interval '1 millisecond'`,
  `SELECT encode('a', 'hex')`,
  // Not even if no row comes so far.
  `SELECT FROM pg_class WHERE relname = '' AND oid = 'pg_class'::regclass`,
  `DO 'BEGIN PERFORM 1.5 * 1000; END'`,
];
/** Of arguments and operands. */
const TYPES =
  'bool "char" name int2 int4 int8 float4 float8 numeric text varchar bytea oid regclass timestamptz timestamp date interval _text _int4 _int8';

/**
 * Overloads of all functions and operators that the store may use, so that one is nearer than the catalogue's wherever the types of the
 * arguments are not exactly those of the catalogue's. Each fails, and nobody else may execute it: then even one that is planned and not
 * reached fails.
 */
const PLANT = `CREATE FUNCTION hostile.plant(functions text[], operators text[], types text[]) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    evil CONSTANT text := 'LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION SQLSTATE ''''EVIL1''''; END''';
    f text; one text; other text; result text;
  BEGIN
    ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
    FOR f IN SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (functions) LOOP
      EXECUTE format('CREATE FUNCTION hostile.%I() RETURNS text %s', f, evil);
      EXECUTE format('CREATE FUNCTION hostile.%I(VARIADIC text[]) RETURNS text %s', f, evil);
      EXECUTE format('CREATE FUNCTION hostile.%I(text, VARIADIC anyarray) RETURNS text %s', f, evil);
      FOREACH one IN ARRAY types LOOP
        CONTINUE WHEN one = '_text'; -- as VARIADIC
        EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS %2$s %3$s', f, one, evil);
        FOREACH other IN ARRAY types LOOP
          EXECUTE format('CREATE FUNCTION hostile.%I(%s, %s) RETURNS %2$s %4$s', f, one, other, evil);
        END LOOP;
      END LOOP;
    END LOOP;
    FOREACH one IN ARRAY types LOOP
      FOREACH other IN ARRAY types LOOP
        FOREACH result IN ARRAY ARRAY['bool', one] LOOP
          EXECUTE format('CREATE OR REPLACE FUNCTION hostile.%I(%s, %s) RETURNS %s %s', 'to_' || result, one, other, result, evil);
        END LOOP;
        FOR f IN SELECT DISTINCT oprname FROM pg_operator WHERE oprname = ANY (operators) AND oprkind = 'b' LOOP
          result := CASE WHEN f ~ '[=<>~]' THEN 'bool' ELSE one END;
          EXECUTE format('CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hostile.%I)', f, one, other, 'to_' || result);
        END LOOP;
      END LOOP;
    END LOOP;
  END $$`;

/** The functions and operators in the code of the store, and much that is none. */
async function wordsOfSources(): Promise<[functions: string[], operators: string[]]> {
  const folder = new URL('../../src/', import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter((name) =>
    /^(?!.*generated).*(?<!\.spec)\.ts$/.test(name),
  );
  const code = (await Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')))).join('\n');
  const functions = code.match(/(?<![.\w$])[a-z_][a-z_0-9]*(?=\()/g) ?? [];
  // The last ones are behind other syntax.
  const operators = [...(code.match(/(?<=\s)[-+*/<>=~!@#%^&|]+(?=\s)/g) ?? []), '<>', '<=', '>=', '~~', '!~~'];
  return [[...new Set(functions)], [...new Set(operators)]];
}

describe('A database with the functions, operators and tables of a stranger first on the search_path', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    const server = await createTestDatabase({ migrated: false });
    const owner = '(SELECT quote_ident(current_user))';
    await server.query(`CREATE ROLE ${STRANGER}; DO $$ BEGIN
      EXECUTE format('CREATE ROLE ${TENANT} LOGIN PASSWORD ''${PASSWORD}'' IN ROLE %s', ${owner}); END $$`);
    await server.drop();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await database.drop();
  });
  afterAll(async () => {
    const server = await createTestDatabase({ migrated: false });
    await server.query(`DROP ROLE ${STRANGER}; DROP ROLE ${TENANT}`);
    await server.drop();
  });

  async function letIn(): Promise<void> {
    const tables = ['plants', 'access_tokens', '_prisma_migrations'].map(
      (table) => `CREATE TABLE hostile.${table} ();`,
    );
    const name = pg.escapeIdentifier(new URL(database.url).pathname.slice(1));
    await database.query(`CREATE SCHEMA hostile; GRANT ALL ON SCHEMA hostile TO ${STRANGER};
      GRANT USAGE ON SCHEMA hostile TO PUBLIC; ${PLANT}; ALTER DATABASE ${name} SET search_path = hostile, public`);
    const lists = [...(await wordsOfSources()), TYPES.split(' ')];
    const values = lists.map((list) => `ARRAY[${list.map((word) => pg.escapeLiteral(word)).join()}]`);
    await database.query(`BEGIN; SET LOCAL search_path = pg_catalog; SET LOCAL ROLE ${STRANGER}; ${tables.join(' ')}
      SELECT hostile.plant(${values.join()}); COMMIT`);
  }

  const urlOfTenant = (): string => {
    const url = new URL(database.url);
    [url.username, url.password] = [TENANT, PASSWORD];
    return url.href;
  };
  async function run(command: string, owner: Record<string, string> = {}): Promise<string> {
    const { code, stdout, stderr } = await outcomeOfCommandLine(command, { DATABASE_URL: urlOfTenant(), ...owner });
    expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
    return stdout.trim();
  }

  it.each([false, true])(
    'should be used as if they were not there; distributed by Citus: %s',
    async (isDistributed) => {
      database = await createTestDatabase({ migrated: false });
      if (isDistributed) await createStandInCitus(database);
      await letIn();
      for (const sql of UNSAFE)
        await expect(database.query(`SET ROLE ${TENANT}; ${sql}`)).rejects.toMatchObject({
          code: expect.stringMatching(/^(?:EVIL1|42501)$/),
        });

      await run('migrate', { MIGRATION_DATABASE_URL: database.url });
      if (isDistributed)
        await pretendDistribution({ ...database, query: (sql) => database.query(`SET search_path = public; ${sql}`) });
      await run('serve --check');
      const token = await run('token create first');
      const warn = jest.spyOn(Logger.prototype, 'warn');
      const store = await startStoreOn({ ...database, url: urlOfTenant() });
      try {
        expect((await fetch(`http://127.0.0.1:${store.managementPort}/readyz`)).status).toBe(200);
        const headers = { ...bearer(token), 'Idempotency-Key': 'key' };
        const creates = [[1], [1], [1, 'Oak'], [-1], [2], [3], [1], [2, 'Oak'], [2 ** 40], [7]].map(
          ([id, name = 'Rose']) => ({
            body: JSON.stringify({ id, name }),
            headers,
          }),
        );
        const alone = [];
        for (const { body } of creates.slice(0, 3)) alone.push(await store.post(body, headers));
        const answers = [...alone, ...(await createTogether(store.port, creates.slice(3)))];
        expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 400, 200, 200, 200, 200, 400, 200, 200]);
        const expired = await run('token create brief');
        await database.query(`UPDATE public.access_tokens SET expires_at = now() WHERE name = 'brief'::text`);
        expect((await store.post('{}', bearer(expired))).body).toMatch('40101');
        const used = 'SELECT FROM public.access_tokens WHERE last_used_at IS NOT NULL';
        await until(async () => (await database.query(used)).length > 0);
      } finally {
        await store.stop();
      }
      expect(warn.mock.calls).toEqual([]);
      for (const command of ['create second --expires 90d', 'rotate second --overlap 1h', 'revoke second', 'list'])
        await run(`token ${command}`);
    },
  );

  it('should be used so on the connections of a host, which keep their search_path', async () => {
    database = await createTestDatabase();
    await letIn();
    const pool = new pg.Pool({ connectionString: urlOfTenant(), max: 1 });
    const module = PlantsModule.forRoot({ database: { pool }, guards: 'none' });
    const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    const plants = app.get(PlantsService, { strict: false });
    const health = app.get(PlantsHealth, { strict: false });
    // The next probe is a large one.
    health.noteFailure(Object.assign(new Error('the disk is full'), { code: '53100' }));
    await health.check();
    await plants.create({ id: 200n, name: 'Rose' }, { idempotencyKey: 'key' });
    await Promise.all([200n, 201n, 202n].map((id) => plants.create({ id, name: 'Rose' }, { idempotencyKey: 'key' })));
    const transaction = await pool.connect();
    await transaction.query('BEGIN');
    for (const id of [202n, 203n]) await plants.create({ id, name: 'Rose' }, { transaction, idempotencyKey: 'key' });
    await transaction.query('COMMIT');
    expect((await transaction.query('SHOW search_path')).rows).toEqual([{ search_path: 'hostile, public' }]);
    transaction.release();
    await app.close();
    await endPool(pool);
    expect(await database.query('SELECT FROM public.plants')).toHaveLength(4);
  });
});
