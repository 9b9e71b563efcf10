import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';
import { freePort, TakenPort } from '../support/http/free-port.js';
import { expectBadConfiguration, expectFailure, PASSWORD } from '../support/service/run-command-line.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { until } from '../support/until.js';

describe('plant-store serve', () => {
  let migrated: TestDatabase;
  let taken: TakenPort;

  beforeAll(async () => {
    migrated = await createTestDatabase();
    taken = await TakenPort.take();
  });
  afterAll(async () => {
    taken[Symbol.dispose]();
    await migrated.drop();
  });

  const variables = ({ url }: TestDatabase): Record<string, string> => serviceVariables(url);

  it('should name what is missing in production', () =>
    expectBadConfiguration('serve', { NODE_ENV: 'production' }, /^DATABASE_URL: is missing/m));

  it('should name all that is wrong at once, and show no secret', () =>
    expectBadConfiguration(
      'serve',
      { DATABASE_URL: `mysql://gardener:${PASSWORD}@localhost/plants`, ACCESS_TOKENS: PASSWORD, PORT: 'many' },
      /^DATABASE_URL: /m,
      /^ACCESS_TOKENS: /m,
      /^PORT: /m,
    ));

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'a secret in no file',
      { DATABASE_PASSWORD_FILE: '/nonexistent/password' },
      /^DATABASE_PASSWORD_FILE: cannot read/m,
    ],
    ['two sources', { DATABASE_URL_FILE: '/nonexistent/url' }, /^DATABASE_URL_FILE: is set, and so is DATABASE_URL:/m],
    ['a token that is too short', { ACCESS_TOKENS: 'short' }, /^ACCESS_TOKENS: /m],
    ['a path', { BASE_PATH: 'api/' }, /^BASE_PATH: /m],
    ['a delay beyond the end', { DRAIN_DELAY: '10001' }, /^DRAIN_DELAY: /m],
    ['one port for two', { PORT: '9464', MANAGEMENT_PORT: '9464' }, /^MANAGEMENT_PORT: /m],
    ['an issuer without audience', { JWT_ISSUER: 'https://issuer.example' }, /^JWT_AUDIENCE: /m],
  ])('should exit with a code of its own for %s', (_, fault, reason) =>
    expectBadConfiguration('serve', { ...variables(migrated), ...fault }, reason),
  );

  it('should say how to migrate a database that is not', async () => {
    const database = await createTestDatabase({ migrated: false });
    await expectFailure('serve', variables(database), 'is not migrated', 'Run `plant-store migrate`');
    await database.drop();
  });

  it.each<[string, (url: URL) => void, string]>([
    ['no server', (url) => (url.port = '1'), 'Start PostgreSQL, or correct host, port and TLS in DATABASE_URL.'],
    ['no database', (url) => (url.pathname = '/no_such'), 'Create the database, or correct its name in DATABASE_URL.'],
    ['no password', (url) => (url.password = ''), 'the server wants a password, and none is given'],
    ['another password', (url) => (url.password = PASSWORD), 'Correct the user in DATABASE_URL, or the password there'],
    [
      'no tables',
      (url) => {
        url.searchParams.set('schema', 'garden');
      },
      'schema garden of database',
    ],
    [
      'the tables of others',
      (url) => {
        url.searchParams.set('schema', 'others');
      },
      'Run `plant-store migrate`',
    ],
  ])('should speak to operators if there is %s', async (_, spoil, advice) => {
    const database = await createTestDatabase();
    await database.query('CREATE SCHEMA others CREATE TABLE orders (id INT)');
    const url = new URL(database.url);
    spoil(url);
    const run = await PlantStoreProcess.run('serve', { ...variables(database), DATABASE_URL: url.href });
    await database.drop();
    expect([await run.ended, run.stderr]).toEqual([1, expect.stringContaining(advice)]);
    expect(run.output).not.toMatch(/PlantsAuthModule|PlantsModule|issuedTokens|\n\s+at /);
  });

  it('should refuse a database that a newer build has migrated', async () => {
    const database = await createTestDatabase();
    await database.query(`
      INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
      VALUES ('newer', 'newer', '29990101000000_newer', now(), 1)`);
    await expectFailure('serve', variables(database), '29990101000000_newer', 'Use the build that has made it');
    await database.drop();
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])('should say that the %s is taken', async (name) => {
    const fault = new RegExp(`^${name}: ${taken.number} on "127\\.0\\.0\\.1" is taken by another program`, 'm');
    await expectFailure('serve', { ...variables(migrated), [name]: String(taken.number) }, fault);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['::1', '[::1]'],
    ['::', '[::]'],
  ])('should print the address that it listens on for HOST=%s', async (HOST, shown) => {
    await using service = new PlantStoreProcess(['serve'], { variables: { ...variables(migrated), HOST } });
    await service.printed(/"Started plant-store.*\n/);
    const [{ message } = {}] = service.log.filter((entry) => String(entry.message).startsWith('Listening on'));
    expect(message).toBe(`Listening on http://${shown}:${new URL(String(message).slice(13)).port}/plants`);
    expect(service.output).toContain(`"public":"http://${shown}:`);
    expect(service.output).not.toContain('Only this machine');
  });

  it.each(['HOST', 'MANAGEMENT_HOST'])('should say that the %s is an address of another machine', (name) =>
    // 192.0.2.0/24 is set aside for documentation (RFC 5737).
    expectFailure(
      'serve',
      { ...variables(migrated), [name]: '192.0.2.1' },
      new RegExp(`^${name}: "192\\.0\\.2\\.1" is no address of this machine`, 'm'),
    ),
  );

  it('should log lines of JSON, and nothing of its secrets', async () => {
    await using service = await PlantStoreProcess.serve(migrated.url, { LOG_LEVEL: 'trace' });
    expect(await service.post('{"id":1,"name":"Rose"}')).toMatchObject({ status: 200 });
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);

    expect(service.log.length).toBeGreaterThan(1);
    for (const entry of service.log) {
      expect(entry).toMatchObject({ level: expect.any(String) as unknown, time: expect.any(String) as unknown });
    }
    expect(service.output).not.toMatch(TOKEN);
    expect(service.output).not.toMatch(migrated.url);
    expect(service.output).not.toMatch(new URL(migrated.url).password);
  });

  it('should be ready in production without a token, make none, and say once how to create one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-first-'));
    const MANAGEMENT_PORT = String(await freePort());
    const production = { NODE_ENV: 'production', ACCESS_TOKENS: '', MANAGEMENT_PORT };
    await using service = await PlantStoreProcess.serve(migrated.url, production, { cwd: folder });
    await until(async () => (await fetch(`http://127.0.0.1:${MANAGEMENT_PORT}/readyz`)).status === 200);
    expect(await service.post('{"id":2,"name":"Rose"}')).toMatchObject({
      status: 400,
      body: expect.stringMatching('40101') as unknown,
    });
    await service.printed(/No access token is valid now/);
    await service.printed(new RegExp(`http://127\\.0\\.0\\.1:${service.port} is plain HTTP: `));
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.log.filter(({ level, context }) => level === 'warn' && context === 'PlantStore')).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: expect.stringMatching(
          /"plant-store token create NAME".*"docker compose exec api plant-store token create NAME"/,
        ) as unknown,
      }),
    ]);
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
