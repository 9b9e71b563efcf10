import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { MIGRATIONS } from '../../src/database/generated/migrations.js';
import { PlantsHealth, PlantsModule, PlantsService } from '../../src/index.js';
import { createService } from '../../src/service/bootstrap.js';
import { loadEnvironment, type ServiceEnvironment } from '../../src/service/environment.js';
import {
  createTestDatabase,
  endPool,
  sentDuring,
  type SentStatement,
  type TestDatabase,
} from '../support/database/test-database.js';
import { createHostileSchema } from '../support/database/hostile-schema.js';
import { createStandInCitus, pretendDistribution } from '../support/database/citus-cluster.js';
import { HOST_DRIVERS } from '../support/host/host-drivers.js';
import { createTogether } from '../support/http/request.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { serviceVariables } from '../support/service/process.js';
import { connectTo, startStore } from '../support/service/store.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const suffix = randomBytes(4).toString('hex');
/** Owns the hostile schema. */
const STRANGER = `plants_stranger_${suffix}`;
/** May do what the owner of the tables may, and is no superuser. */
const TENANT = `plants_tenant_${suffix}`;

/** Each has a nearer match than the catalogue's. */
const UNSAFE = [
  'SELECT 1.5 * 1000',
  `SELECT 2 * interval '1 millisecond'`,
  `SELECT format('%s', 'a'::text)`,
  'SELECT pg_catalog.random() - 0.5',
  'SELECT pg_advisory_lock(72707369)',
  // Not even if no row comes so far.
  `SELECT FROM pg_class WHERE relname = '' AND oid = 'pg_class'::regclass`,
  `DO 'BEGIN PERFORM 1.5 * 1000; END'`,
].map((text) => ({ text, values: undefined }));
const NO_ROOM = Object.assign(new Error('the disk is full'), { code: '53100' });
const NOT_SENT = [
  // In advice, or sent to the embedded server alone.
  ...['citus_add_node', 'undistribute_table', 'alter_distributed_table', 'pg_database'],
];

const plant = (id: number, name = 'Rose'): string => JSON.stringify({ id, name });
const withKey = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });

/** Runs a command that succeeds, and returns its output. */
async function command(line: string, url: string): Promise<string> {
  const { code, stdout, stderr } = await outcomeOfCommandLine(line, serviceVariables(url));
  if (code !== 0) throw new Error(`plant-store ${line}: ${stderr}`);
  return stdout;
}

/** As the owner of the tables, who lets the role of the service use them. */
async function migrate({ url }: TestDatabase): Promise<void> {
  const service = new URL(url);
  service.username = TENANT;
  const variables = { DATABASE_URL: service.href, MIGRATION_DATABASE_URL: url };
  const { code, stderr } = await outcomeOfCommandLine('migrate', variables);
  expect([code, stderr]).toEqual([0, '']);
}

/** The service, as `plant-store serve` starts it: creates in all their forms, and both probes. */
async function useService(database: TestDatabase): Promise<void> {
  const { url } = database;
  const token = (await command('token create first', url)).trim();
  const options = loadEnvironment({ ...serviceVariables(url), LOG_LEVEL: 'fatal' });
  const app = await createService(options as ServiceEnvironment);
  try {
    await app.listen(0, '127.0.0.1');
    const { port } = new URL(await app.getUrl());
    const { post } = connectTo(Number(port), '');
    app.get(PlantsHealth, { strict: false }).noteFailure(NO_ROOM);
    await app.get(PlantsHealth, { strict: false }).check();
    for (const body of [plant(1), plant(1), plant(1, 'Oak')]) await post(body, { ...bearer(token), ...withKey('key') });
    const together = [plant(-1), plant(2), plant(3), plant(1), plant(2, 'Oak'), plant(2 ** 40), plant(7)];
    const answers = await createTogether(
      Number(port),
      together.map((body) => ({ body, headers: withKey('key') })),
    );
    expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 200, 200, 400, 200, 200]);
    await until(
      async () => (await database.query('SELECT FROM access_tokens WHERE last_used_at IS NOT NULL')).length > 0,
    );
  } finally {
    await app.close();
  }
}

async function useCommands({ url }: TestDatabase): Promise<void> {
  await command('token create second --expires 90d', url);
  await command('token rotate second --overlap 1h', url);
  await command('token revoke second', url);
  const [first] = JSON.parse(await command('token list --json', url)) as { id: number }[];
  await command(`token revoke ${first?.id}`, url);
  await outcomeOfCommandLine('serve --check', serviceVariables(url));
}

/** A host that lends its pool. */
async function asGuest(
  config: pg.PoolConfig,
  work: (app: INestApplicationContext, pool: pg.Pool) => Promise<void>,
): Promise<void> {
  const pool = new pg.Pool(config);
  const module = PlantsModule.forRoot({ database: { pool }, guards: 'none' });
  try {
    const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    await work(app, pool).finally(() => app.close());
  } finally {
    await endPool(pool);
  }
}

/** Creates on the pool of a host, and in its transactions. */
async function useAsGuest(url: string, app: INestApplicationContext): Promise<void> {
  const plants = app.get(PlantsService, { strict: false });
  await app.get(PlantsHealth, { strict: false }).check();
  await plants.create({ id: 100n, name: 'Rose' });
  for (const [index, [, open]] of HOST_DRIVERS.entries()) {
    const driver = open(url);
    const elm = { id: 101n + BigInt(index), name: 'Elm' };
    const work = driver.transact(async (transaction) => {
      for (let count = 0; count < 2; count++) await plants.create(elm, { transaction, idempotencyKey: 'key' });
    });
    await work.finally(() => driver.close());
  }
}

interface Use {
  readonly database: TestDatabase;
  readonly statements: readonly SentStatement[];
}

/** What a statement does, alone, in a session with this path: `done`, or the SQLSTATE of its failure. */
async function outcome({ url }: TestDatabase, statement: SentStatement, path: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, statement_timeout: 5000 });
  await client.connect();
  try {
    await client.query(`SET search_path = ${path}; SET ROLE ${TENANT}; BEGIN`);
    await client.query(statement.values ? { ...statement, values: statement.values } : statement.text);
    return 'done';
  } catch (error) {
    return (error as pg.DatabaseError).code ?? String(error);
  } finally {
    await client.end();
  }
}

/** Those that do something else if the hostile schema is on the path. */
async function captured({ database, statements }: Use): Promise<string[]> {
  const found = [];
  for (const statement of statements) {
    const usual = await outcome(database, statement, 'public');
    const hostile = await outcome(database, statement, 'hostile, public');
    if (usual !== hostile) found.push(`${usual} -> ${hostile}: ${statement.text}`);
  }
  return found;
}

/** All code of the store. */
async function sources(): Promise<string[]> {
  const folder = new URL('../../src/', import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter((name) => /(?<!\.spec)\.ts$/.test(name));
  return Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')));
}

describe('The SQL of the store, if the functions and operators of a stranger are on the search_path', () => {
  const databases: TestDatabase[] = [];
  let ordinary: Use;
  let distributed: Use;

  /** Uses the store, and then lets the stranger in. */
  async function recordUse(work: (database: TestDatabase) => Promise<unknown>): Promise<Use> {
    const database = await createTestDatabase({ migrated: false });
    databases.push(database);
    const sent = await sentDuring(() => work(database));
    // No statement of a script runs alone, and a session of `migrate` runs it with a path of its own.
    const isScript = ({ text }: SentStatement): boolean => MIGRATIONS.some(({ sql }) => text.includes(sql));
    const statements = sent.filter((statement) => !isScript(statement));
    await createHostileSchema(database, STRANGER, [...statements, ...UNSAFE]);
    return { database, statements };
  }

  beforeAll(async () => {
    const server = await createTestDatabase({ migrated: false });
    const [{ name } = { name: '' }] = await server.query<{ name: string }>('SELECT current_user::text AS name');
    await server.query(`CREATE ROLE ${STRANGER}; CREATE ROLE ${TENANT} IN ROLE "${name}"`);
    await server.drop();
    ordinary = await recordUse(async (database) => {
      await migrate(database);
      await useService(database);
      await useCommands(database);
      await asGuest({ connectionString: database.url }, (app) => useAsGuest(database.url, app));
    });
    distributed = await recordUse(async (database) => {
      await createStandInCitus(database);
      await migrate(database);
      await pretendDistribution(database);
      await useService(database);
    });
  });
  afterAll(async () => {
    for (const database of databases) await database.drop();
    const server = await createTestDatabase({ migrated: false });
    await server.query(`DROP ROLE ${STRANGER}; DROP ROLE ${TENANT}`);
    await server.drop();
  });

  it.each(UNSAFE)('should be found if it is as unsafe as $text', async (statement) => {
    expect(await captured({ ...ordinary, statements: [statement] })).toEqual([
      expect.stringMatching(/^done -> (?:EVIL1|42501)/),
    ]);
  });

  it('should be collected completely', async () => {
    const sent = [...ordinary.statements, ...distributed.statements].map(({ text }) => text).join();
    const known = new Set((await sources()).flatMap((source) => source.match(/(?<=pg_catalog\.)\w+/g) ?? []));
    expect([...known].filter((name) => !sent.includes(`pg_catalog.${name}`) && !NOT_SENT.includes(name))).toEqual([]);
  });

  it('should call none of them, in all that is sent', async () => {
    expect(await captured(ordinary)).toEqual([]);
  });

  it('should call none of them, in all that is sent to Citus', async () => {
    expect(await captured(distributed)).toEqual([]);
  });

  it('should call none of them on the pool of a host', async () => {
    const { database } = ordinary;
    await asGuest({ connectionString: database.url, max: 1 }, async (app, pool) => {
      await pool.query('SET search_path = hostile, public');
      const plants = app.get(PlantsService, { strict: false });
      const health = app.get(PlantsHealth, { strict: false });
      health.noteFailure(NO_ROOM);
      await health.check();
      await plants.create({ id: 200n, name: 'Rose' }, { idempotencyKey: 'key' });
      await Promise.all([200n, 201n, 202n].map((id) => plants.create({ id, name: 'Rose' }, { idempotencyKey: 'key' })));
      expect((await pool.query('SHOW search_path')).rows).toEqual([{ search_path: 'hostile, public' }]);
    });
    expect(await database.query('SELECT FROM plants WHERE id BETWEEN 200 AND 202')).toHaveLength(3);
  });

  it('should call none of them in a database that was hostile before it was migrated', async () => {
    const database = await createTestDatabase({ migrated: false });
    databases.push(database);
    await createHostileSchema(database, STRANGER, [...ordinary.statements, ...UNSAFE]);
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE "${name}" SET search_path = hostile, public`);
    await migrate(database);
    await useService(database);
    await useCommands(database);
    expect(await database.query('SELECT FROM public.plants')).toHaveLength(6);
  });
});

describe('An expired token', () => {
  it('should stay expired if a stranger has planted a product that lets it live on', async () => {
    const store = await startStore();
    try {
      const { database } = store;
      await database.query(`CREATE FUNCTION public.live_on(numeric, integer) RETURNS numeric LANGUAGE sql RETURN 60000;
        CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.live_on)`);
      expect(await database.query('SELECT -1.5 * 1000 AS left')).toEqual([{ left: '60000' }]);
      const { headers } = await issueToken(database, { expires: '-1 hour' });
      expect((await store.post(plant(1), headers)).body).toMatch('40101');
      expect(await database.query('SELECT FROM plants')).toEqual([]);
    } finally {
      await store.stop();
    }
  });
});
