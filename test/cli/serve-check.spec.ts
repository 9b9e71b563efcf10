import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
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
  function urlWith(change: (url: URL) => unknown): string {
    const url = new URL(database.url);
    change(url);
    return url.href;
  }
  const urlOfRole = (): string =>
    urlWith((url) => {
      [url.username, url.password] = [role, PASSWORD];
      url.searchParams.set('connect_timeout', '5');
    });

  it('should find nothing wrong if all is well, also if the ports are taken, and change nothing', async () => {
    using taken = await TakenPort.take();
    await issueToken(database);
    const before = await database.query(SNAPSHOT);
    const PORT = String(taken.number);
    for (const ACCESS_TOKENS of ['', 'a-token-of-20-characters-or-more'])
      expect(await run({ PORT, ACCESS_TOKENS, NODE_ENV: 'production' })).toEqual({ code: 0, stdout: FINE, stderr: '' });
    expect(await database.query(SNAPSHOT)).toEqual(before);
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

  it('should name missing rights, tables that a crash would empty, and all warnings', async () => {
    await database.query(`GRANT SELECT ON _prisma_migrations TO ${role}; ALTER TABLE access_tokens SET UNLOGGED`);
    const { code, stdout, stderr } = await run({ DATABASE_URL: urlOfRole() });
    expect(code).toBe(78);
    expect(stderr).toContain('ALTER TABLE public.access_tokens SET LOGGED');
    expect(stdout).toMatch(/^Warning: .*connect_timeout/m);
    expect(stdout).toMatch(/^Warning: Access tokens of schema public cannot be used: .*plant-store migrate/m);
  });

  it('should exit with 0 if there are only warnings, such as that no access token is valid', async () => {
    const { code, stdout, stderr } = await run({ ACCESS_TOKENS: '', NODE_ENV: 'production' });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Warning: No access token is valid now, .*plant-store token create NAME/);
    expect(stdout.endsWith(FINE)).toBe(true);
  });

  it.each<[string, number, (url: URL) => unknown, RegExp]>([
    ['a server that is away', 1, (url) => (url.port = '1'), /: connect ECONNREFUSED.* Start PostgreSQL/],
    ['another password', 78, (url) => (url.password = 'wrong'), /: password authentication failed/],
    ['no database', 78, (url) => (url.pathname = '/no_such'), /"no_such" does not exist.* correct its URL/],
  ])('should exit, with %s, with %i', async (_, expected, spoil, reason) => {
    const { code, stdout, stderr } = await run({ DATABASE_URL: urlWith(spoil) });
    expect([code, stdout, stderr]).toEqual([expected, '', expect.stringMatching(reason)]);
  });

  it('should look at the folder of the embedded database, and make nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-check-'));
    const fine = await PlantStoreProcess.run('serve --check', {}, { cwd: folder });
    expect([fine.stderr, await fine.ended]).toEqual(['', 0]);
    expect(fine.stdout).toBe(
      `The service can start, with a PostgreSQL of its own, with its data in ${folder}/.data.\n`,
    );
    expect(await readdir(folder)).toEqual([]);
    await mkdir(join(folder, '.data'));
    await chmod(join(folder, '.data'), 0o777);
    const open = await PlantStoreProcess.run('serve --check', {}, { cwd: folder });
    expect([open.stdout, await open.ended]).toEqual(['', 78]);
    expect(open.stderr).toMatch(/\.data: others may write it, .* should be a folder that only its owner may write/);
    await chmod(join(folder, '.data'), 0o755);
    const token = join(folder, '.data/access-token');
    await writeFile(token, 'chosen-by-somebody-else-0');
    await chmod(token, 0o666);
    const chosen = await PlantStoreProcess.run('serve --check', {}, { cwd: folder });
    expect([chosen.stdout, await chosen.ended]).toEqual(['', 78]);
    expect(chosen.stderr).toMatch(/access-token: others may have written it, .* should be a file that only this user/);
    await rm(folder, { recursive: true });
  });
});
