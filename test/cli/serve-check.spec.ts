import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from '../../src/service/cli/check.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TakenPort } from '../support/http/free-port.js';
import { type CommandOutcome, outcomeOfCommandLine, PASSWORD } from '../support/service/run-command-line.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { issueToken } from '../support/tokens/issued-token.js';

const FINE = 'The service can start, with this database.\n';
/** What is in the database, rights and settings of tables included. */
const SNAPSHOT = `SELECT json_agg(c ORDER BY c.oid)::text AS tables, (SELECT json_agg(p)::text FROM plants AS p) AS plants,
    (SELECT json_agg(t)::text FROM access_tokens AS t) AS tokens, (SELECT json_agg(m)::text FROM _prisma_migrations AS m) AS history
  FROM (SELECT oid, relname, relkind, relacl::text, relpersistence FROM pg_class WHERE relnamespace = 'public'::regnamespace) AS c`;

describe(`plant-store serve --${check.name}`, () => {
  let database: TestDatabase;
  let role: string;

  beforeEach(async () => {
    database = await createTestDatabase();
    role = `gardener_${new URL(database.url).pathname.slice(-8)}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
  });
  afterEach(async () => {
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await database.drop();
  });

  async function run(variables: Record<string, string> = {}): Promise<CommandOutcome> {
    const outcome = await outcomeOfCommandLine('serve --check', { ...serviceVariables(database.url), ...variables });
    const output = outcome.stdout + outcome.stderr;
    for (const secret of [PASSWORD, new URL(database.url).password]) expect(output).not.toContain(secret);
    expect(output).not.toMatch(/\n\s+at /);
    return outcome;
  }

  it('should find nothing wrong if all is well, also if the ports are taken, change nothing, and exit with 0 for warnings too', async () => {
    using taken = await TakenPort.take();
    await issueToken(database);
    const before = await database.query(SNAPSHOT);
    const variables = { PORT: String(taken.number), ACCESS_TOKENS: '', NODE_ENV: 'production' };
    expect(await run(variables)).toEqual({ code: 0, stdout: FINE, stderr: '' });
    expect(await database.query(SNAPSHOT)).toEqual(before);
    await database.query('UPDATE access_tokens SET revoked_at = now()');
    const warned = await run(variables);
    expect([warned.code, warned.stderr]).toEqual([0, '']);
    expect(warned.stdout).toMatch(
      /^Warning: No access token is valid now, .*plant-store token create NAME.*\n.* can start/,
    );
  });

  it('should list all faults at once, those of the database too, exit with 78, and migrate nothing', async () => {
    const bare = await createTestDatabase({ migrated: false });
    const { code, stdout, stderr } = await run({ DATABASE_URL: bare.url, PORT: 'many', ACCESS_TOKENS: PASSWORD });
    expect([code, stdout]).toEqual([78, '']);
    for (const fault of [/^PORT: is "many", should be/m, /^ACCESS_TOKENS: /m, /^schema public .* is not migrated: /m])
      expect(stderr).toMatch(fault);
    expect(await bare.query("SELECT FROM pg_class WHERE relname = 'plants'")).toEqual([]);
    await bare.drop();
  });

  it('should name tables that a crash would empty, and all warnings, such as of missing rights', async () => {
    await database.query(`GRANT SELECT ON _prisma_migrations TO ${role}; ALTER TABLE access_tokens SET UNLOGGED`);
    const url = Object.assign(new URL(database.url), {
      username: role,
      password: PASSWORD,
      search: '?connect_timeout=5',
    });
    const { code, stdout, stderr } = await run({ DATABASE_URL: url.href });
    expect(code).toBe(78);
    expect(stderr).toContain('ALTER TABLE public.access_tokens SET LOGGED');
    expect(stdout).toMatch(/^Warning: .*connect_timeout/m);
    expect(stdout).toMatch(/^Warning: Access tokens of schema public cannot be used: .*plant-store migrate/m);
  });

  it.each<[string, number, Partial<URL>, RegExp]>([
    ['a server that is away', 1, { port: '1' }, /: connect ECONNREFUSED.* Start PostgreSQL/],
    ['another password', 78, { password: 'wrong' }, /: password authentication failed/],
    ['no database', 78, { pathname: '/no_such' }, /"no_such" does not exist.* correct its URL/],
  ])('should exit, with %s, with %i', async (_, expected, spoilt, reason) => {
    const url = Object.assign(new URL(database.url), spoilt);
    const { code, stdout, stderr } = await run({ DATABASE_URL: url.href });
    expect([code, stdout, stderr]).toEqual([expected, '', expect.stringMatching(reason)]);
  });

  it('should make nothing for an embedded database', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-check-'));
    const { stderr, stdout, ended } = await PlantStoreProcess.run('serve --check', {}, { cwd: folder });
    expect([stderr, await ended]).toEqual(['', 0]);
    expect(stdout).toBe(`The service can start, with a PostgreSQL of its own, with its data in ${folder}/.data.\n`);
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
