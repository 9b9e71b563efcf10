import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';
import { TakenPort } from '../support/http/free-port.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { type CommandOutcome, outcomeOfCommandLine, PASSWORD } from '../support/service/run-command-line.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { issueToken } from '../support/tokens/issued-token.js';

const FINE = 'The service can start, with this database.\n';
/** What is in the database, its settings and tables included. */
const SNAPSHOT = `SELECT (SELECT json_agg(c ORDER BY c.oid)::text FROM (
    SELECT oid, relname, relkind, relacl::text, relpersistence FROM pg_class WHERE relnamespace = 'public'::regnamespace) AS c) AS tables,
  (SELECT json_agg(p ORDER BY id)::text FROM plants AS p) AS plants,
  (SELECT json_agg(t ORDER BY id)::text FROM access_tokens AS t) AS tokens,
  (SELECT json_agg(m ORDER BY id)::text FROM _prisma_migrations AS m) AS migrations,
  (SELECT last_value::text FROM access_tokens_id_seq) AS sequence`;

describe('plant-store serve --check', () => {
  let database: TestDatabase;
  let role: string;

  beforeEach(async () => {
    database = await createTestDatabase();
    role = `gardener_${randomBytes(4).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
  });
  afterEach(async () => {
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await database.drop();
  });

  async function check(variables: Record<string, string> = {}): Promise<CommandOutcome> {
    const outcome = await outcomeOfCommandLine('serve --check', { ...serviceVariables(database.url), ...variables });
    const output = outcome.stdout + outcome.stderr;
    for (const secret of [TOKEN, PASSWORD, new URL(database.url).password]) expect(output).not.toContain(secret);
    expect(output).not.toMatch(/\n\s+at /);
    return outcome;
  }

  function urlWith(change: (url: URL) => unknown): string {
    const url = new URL(database.url);
    change(url);
    return url.href;
  }
  const urlOfRole = (parameter?: string): string =>
    urlWith((url) => {
      url.username = role;
      url.password = PASSWORD;
      if (parameter !== undefined) url.searchParams.set(parameter, '5');
    });

  it('should find nothing wrong if all is well, also if the ports are taken, and change nothing', async () => {
    using taken = await TakenPort.take();
    await issueToken(database);
    await database.query(`INSERT INTO plants (id, name) VALUES (1, 'Rose')`);
    const before = await database.query(SNAPSHOT);
    expect(await check({ PORT: String(taken.number), MANAGEMENT_PORT: String(taken.number + 1) })).toEqual({
      code: 0,
      stdout: FINE,
      stderr: '',
    });
    expect(await database.query(SNAPSHOT)).toEqual(before);
  });

  it('should list all faults at once, those of the database too, exit with 78, and migrate nothing', async () => {
    const bare = await createTestDatabase({ migrated: false });
    const { code, stdout, stderr } = await check({
      DATABASE_URL: bare.url,
      PORT: 'many',
      BODY_LIMIT: '1mb',
      ACCESS_TOKENS: PASSWORD,
    });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toMatch(/^PORT: is "many", should be/m);
    for (const name of ['BODY_LIMIT', 'ACCESS_TOKENS']) expect(stderr).toMatch(new RegExp(`^${name}: `, 'm'));
    expect(stderr).toMatch(/^schema public of .* is not migrated: .*Run `plant-store migrate`/m);
    expect(await bare.query("SELECT FROM pg_class WHERE relname = 'plants'")).toEqual([]);
    await bare.drop();
  });

  it('should name all missing rights, tables that a crash would empty, and tokens that cannot be used, at once', async () => {
    await database.query(`GRANT SELECT ON plants TO ${role}; ALTER TABLE access_tokens SET UNLOGGED`);
    const { code, stdout, stderr } = await check({ DATABASE_URL: urlOfRole() });
    expect(code).toBe(78);
    expect(stderr).toContain(`ON public._prisma_migrations TO ${role}; GRANT INSERT ON public.plants`);
    expect(stderr).toContain('ALTER TABLE public.access_tokens SET LOGGED');
    expect(stdout).toMatch(/^Warning: Access tokens of schema public cannot be used: .*GRANT UPDATE ON/m);
  });

  it('should exit with 0 if there are only warnings, and print all of them', async () => {
    await database.query(`GRANT SELECT, INSERT ON plants TO ${role}; GRANT SELECT ON _prisma_migrations TO ${role};
      GRANT CREATE ON SCHEMA public TO ${role}; ALTER TABLE access_tokens OWNER TO ${role}`);
    await database.query(`REVOKE ALL ON access_tokens FROM ${role}`);
    const { code, stdout, stderr } = await check({
      DATABASE_URL: urlOfRole('connect_timeout'),
      ACCESS_TOKENS: '',
      NODE_ENV: 'production',
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Warning: .*connect_timeout/m);
    expect(stdout).toMatch(
      /^Warning: Access tokens of schema public cannot be used: .*GRANT SELECT ON .*GRANT UPDATE ON/m,
    );
    expect(stdout).toMatch(
      /^Warning: Whether any access token is valid is not known: .*plant-store token create NAME/m,
    );
    expect(stdout.endsWith(FINE)).toBe(true);
  });

  it('should warn if no access token is valid', async () => {
    const production = { ACCESS_TOKENS: '', NODE_ENV: 'production' };
    const { code, stdout } = await check(production);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Warning: No access token is valid now, /)]);
    await issueToken(database);
    expect(await check(production)).toEqual({ code: 0, stdout: FINE, stderr: '' });
  });

  it.each<[string, number, (url: URL) => unknown, RegExp]>([
    [
      'a server that is away',
      1,
      (url) => (url.port = '1'),
      /: connect ECONNREFUSED.* Start PostgreSQL, or correct host/,
    ],
    ['another password', 78, (url) => (url.password = 'wrong'), /: password authentication failed.* Correct the user/],
    ['no database', 78, (url) => (url.pathname = '/no_such'), /"no_such" does not exist.* Create the database/],
  ])('should exit, with %s, with %i', async (_, expected, spoil, reason) => {
    const { code, stdout, stderr } = await check({ DATABASE_URL: urlWith(spoil) });
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toMatch(reason);
  });

  it('should end, with 1, although the database does not answer', async () => {
    const proxy = await TcpProxy.start(database.url);
    proxy.freeze();
    const { code, stderr } = await check({ DATABASE_URL: proxy.url });
    proxy.restore();
    await proxy.close();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/cannot connect to database .*timeout/)]);
  });

  it('should say of the embedded database what the start would do, and make nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-check-'));
    const run = await PlantStoreProcess.run('serve --check', {}, { cwd: folder });
    expect([run.stderr, await run.ended]).toEqual(['', 0]);
    expect(run.stdout).toBe(`The service can start, with a PostgreSQL of its own, with its data in ${folder}/.data.\n`);
    const production = await PlantStoreProcess.run('serve --check', { NODE_ENV: 'production' }, { cwd: folder });
    expect([production.stderr, await production.ended]).toEqual([
      expect.stringContaining('DATABASE_URL: is missing'),
      78,
    ]);
    expect(await readdir(folder)).toEqual([]);

    // As the start does: somebody else may know what a link leads to.
    await mkdir(join(folder, '.data'));
    await symlink('/etc/hostname', join(folder, '.data/access-token'));
    const linked = await PlantStoreProcess.run('serve --check', {}, { cwd: folder });
    expect([await linked.ended, linked.stdout]).toEqual([78, '']);
    expect(linked.stderr).toMatch(/access-token: .*remove it, and the next start makes a new one/);
    expect(await readdir(join(folder, '.data'))).toEqual(['access-token']);
    await rm(folder, { recursive: true });
  });
});
