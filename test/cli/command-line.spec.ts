import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeToken } from '../../src/auth/token-format.js';
import { runCommandLine } from '../../src/service/cli/program.js';
import { createTestDatabase, MIGRATION_NAMES, type TestDatabase } from '../support/database/test-database.js';
import { takePort } from '../support/http/free-port.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import {
  type CommandOutcome,
  expectBadConfiguration,
  expectFailure,
  outcomeOfCommandLine,
  PASSWORD,
} from '../support/service/run-command-line.js';
import { issueToken } from '../support/tokens/issued-token.js';

const CONTROLS = '\u001b[31mfoo\u009b2J';
const TOKEN = makeToken();
const NOWHERE = `postgresql://gardener:${PASSWORD}@127.0.0.1:1/plants`;
const FINE = 'The service can start, with this database.\n';
/** What is in the database, rights and settings of tables included. */
const SNAPSHOT = `SELECT json_agg(c ORDER BY c.oid)::text AS tables, (SELECT json_agg(p)::text FROM plants AS p) AS plants,
    (SELECT json_agg(t)::text FROM access_tokens AS t) AS tokens, (SELECT json_agg(m)::text FROM _prisma_migrations AS m) AS history
  FROM (SELECT oid, relname, relkind, relacl::text, relpersistence FROM pg_class WHERE relnamespace = 'public'::regnamespace) AS c`;

describe(runCommandLine.name, () => {
  it.each([
    ['--help', /^Usage: plant-store .*serve.*migrate.*openapi.*token.*Exits with 0/s],
    ['serve --help', /^Usage: plant-store serve .*--check.*DATABASE_POOL_SIZE +10 +Maximum/s],
    ['migrate -h', /^Usage: plant-store migrate .*--schema <name>.*MIGRATION_DATABASE_URL/s],
    ['token rotate --help', /^Usage: plant-store token rotate .*--overlap <time>.*1h\s+if\s+not\s+given/s],
    ['--version', /^\d+\.\d+\.\d+( [0-9a-f]{40}(-dirty)?)?\n$/],
  ])('should explain itself to %j', async (command, text) => {
    expect(await outcomeOfCommandLine(command)).toEqual({ code: 0, stdout: expect.stringMatching(text), stderr: '' });
  });

  const soon = "argument 'soon' is invalid. It should be a time such as 30m";
  it.each([
    ['', 'Usage: plant-store ', 'serve [options]'],
    ['flourish', "unknown command 'flourish'", 'serve [options]'],
    ['token lst', "unknown command 'lst'\n(Did you mean list?)", 'plant-store token'],
    ['migrate --schema $user', 'must not be $user', 'migrate [options]'],
    ['serve --port=3000', "unknown option '--port=3000'", 'serve [options]'],
    ['token create', "missing required argument 'name'", 'token create [options] <name>'],
    ['token create static', 'A name must not be static or jwt, nor begin with jwt:', 'token create'],
    ['token create a --scope a"b', 'A scope has no white space, quotes', 'token create'],
    ['token create a --expires soon', soon, 'token create'],
    ['token create a --expires 101y', "argument '101y' is invalid", 'token create'],
    ['token revoke', "missing required argument 'name|id'", 'token revoke'],
  ])('should refuse %j, say what is right, and exit with 2', async (command, reason, usage) => {
    const { code, stdout, stderr } = await outcomeOfCommandLine(command);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
    expect(stderr).toContain(usage);
    expect(stderr).not.toContain('REQUEST_TIMEOUT');
  });

  it.each([CONTROLS, TOKEN, `Bearer ${TOKEN}`])('should repeat %j neither to a terminal nor to a log', async (text) => {
    const commands = [[text], ['token', 'list', `--${text}`], ['token', 'create', text]];
    for (const args of [...commands, ['token', 'create', 'a', '--scope', text, '--expires', text]]) {
      const { code, stdout, stderr } = await outcomeOfCommandLine(args);
      expect([stdout, code]).toEqual(['', 2]);
      expect(stderr).toMatch(/^plant-store: /);
      expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
      expect(stderr).not.toContain(TOKEN.slice(6, 20));
    }
  });

  const production = { NODE_ENV: 'production' };
  it.each<[string, Record<string, string>, ...RegExp[]]>([
    ['serve', production, /^DATABASE_URL: is missing/m],
    ['token list', production, /^DATABASE_URL: is missing/m],
    ['token list', {}, /^DATABASE_URL: is missing.* no service .* was started in this folder/m],
    ['migrate', {}, /^DATABASE_URL: is missing/m],
    ['serve', { DATABASE_URL: NOWHERE.replace('postgresql', 'mysql'), PORT: 'x' }, /^DATABASE_URL: /m, /^PORT: /m],
    [
      'migrate',
      { DATABASE_URL_FILE: `/no/${PASSWORD}` },
      /^DATABASE_URL: the file of DATABASE_URL_FILE cannot be read/m,
    ],
  ])('should exit with 78 from %s with %j, and name all that is wrong', (command, variables, ...reasons) =>
    expectBadConfiguration(command, variables, ...reasons),
  );

  it.each(['migrate', 'token create a', 'token list', 'token rotate a', 'token revoke a'])(
    'should exit with 1 from %s if the database is away, and say which',
    (command) =>
      expectFailure(
        command,
        { DATABASE_URL: NOWHERE },
        'cannot connect to database plants at 127.0.0.1:1 as gardener',
        'Start PostgreSQL',
      ),
  );

  it('should print the OpenAPI document and nothing else, and connect to nothing', async () => {
    const { code, stdout, stderr } = await outcomeOfCommandLine('openapi', { ...production, DATABASE_URL: NOWHERE });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ paths: { '/plants': {} } });
  });

  it('should migrate what is not yet, also with the same URL for the owner, and a named schema', async () => {
    const database = await createTestDatabase({ migrated: false });
    const variables = { ...production, DATABASE_URL: database.url, MIGRATION_DATABASE_URL: database.url };
    const applied = `applied ${MIGRATION_NAMES.join(', ')}`;
    for (const [command, said] of [
      ['migrate', `schema public of .*: ${applied}`],
      ['migrate', 'schema public of .*: up to date'],
      ['migrate --schema garden', `schema garden of .*: ${applied}`],
    ] as const)
      expect(await outcomeOfCommandLine(command, variables)).toEqual({
        code: 0,
        stdout: expect.stringMatching(`^${said}\n$`),
        stderr: '',
      });
    await database.drop();
  });
});

describe('plant-store serve --check', () => {
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
    using taken = await takePort();
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
