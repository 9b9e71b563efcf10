import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Finding } from '../../src/cli/doctor/database-checks.js';
import { describeWithPgBouncer, PgBouncer } from '../support/database/pgbouncer.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PASSWORD } from '../support/service/process-failure.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { serviceVariables } from '../support/service/service-variables.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url));
const LOCAL = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };

describe('plant-store doctor, without a database', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-doctor-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function expectHealthy(): Promise<void> {
    const run = await PlantStoreProcess.run('doctor --json', LOCAL, { cwd: folder });
    expect([run.stderr, await run.ended]).toEqual(['', 0]);
    const findings = JSON.parse(run.stdout) as Finding[];
    expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(findings.find(({ check }) => check === 'fsync')?.found).toBe('on');
    expect(findings.find(({ check }) => check === 'tokens')?.found).toContain('one that the service makes');
  }

  it('should find nothing wrong with the embedded one, whether the service runs or not', async () => {
    const service = await new PlantStoreProcess(['serve'], { cwd: folder, variables: LOCAL }).listening();
    await expectHealthy();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);

    const token = (): Promise<string> => readFile(join(folder, '.data/access-token'), 'utf8');
    const before = await token();
    await expectHealthy();
    expect(await token()).toBe(before);
    expect(await readdir(folder)).toEqual(['.data']);
  });
});

describe.each(['serve', 'doctor'])('plant-store %s, with something that it cannot use', (command) => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  /** The doctor exits with 1 for each fault that it finds; `serve` with a code of its own for one of the configuration. */
  const BAD_CONFIGURATION = command === 'serve' ? 78 : 1;

  async function expectFailure(variables: Record<string, string>, reason: RegExp, code = 1): Promise<void> {
    const run = await PlantStoreProcess.run(command, { ...serviceVariables(database.url), ...variables });
    expect(await run.ended).toBe(code);
    expect(run.output).toMatch(reason);
    expect(run.stderr).toMatch(/^plant-store: /m);
    expect(run.output).not.toContain(PASSWORD);
    expect(run.output).not.toMatch(/\n\s+at /);
  }

  it('should name a file with a secret that it cannot read', () =>
    expectFailure(
      { ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '/no/such/file' },
      /ACCESS_TOKENS_FILE: cannot read "\/no\/such\/file" \(ENOENT\), should be the path of a readable file/,
      BAD_CONFIGURATION,
    ));

  it('should say that the password is wrong', () => {
    const url = new URL(database.url);
    url.password = PASSWORD;
    return expectFailure({ DATABASE_URL: url.href }, /cannot connect to database .*: password authentication failed/);
  });

  it('should say that there is no such database', () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    const reason = /cannot connect to database no_such_database at .*: database "no_such_database" does not exist/;
    return expectFailure({ DATABASE_URL: url.href }, reason);
  });

  it('should name a variable that is misspelled with those that are missing', () =>
    expectFailure(
      { NODE_ENV: 'production', DATABASE_URL: '', DATABSE_URL: database.url },
      /DATABSE_URL: is no variable of the service and has no effect, should be DATABASE_URL if that is meant/,
      BAD_CONFIGURATION,
    ));
});

it('should say of a variable that npm start has read it from .env, unless the environment has it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-doctor-'));
  await writeFile(join(folder, '.env'), 'LOG_LEVEL=warn\nPORT=4000\n', { mode: 0o600 });
  const run = await PlantStoreProcess.run('doctor', LOCAL, { cwd: folder, script: SCRIPT });
  await rm(folder, { recursive: true });
  expect([run.stderr, await run.ended]).toEqual(['', 0]);
  expect(run.stdout).toMatch(/^ok +LOG_LEVEL +warn \(\.env\)$/m);
  expect(run.stdout).toMatch(/^ok +PORT +0 \(environment\)$/m);
});

it('should warn at the start of a variable that is misspelled', async () => {
  const database = await createTestDatabase();
  {
    await using service = await PlantStoreProcess.serve(database.url, { ACCES_TOKENS: PASSWORD, LOG_FORMAT: 'json' });
    await service.printed(/ACCES_TOKENS/);
    expect(service.log).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message:
          'ACCES_TOKENS: is no variable of the service and has no effect, should be ACCESS_TOKENS if that is meant',
      }),
    );
    expect(service.output).not.toContain(PASSWORD);
  }
  await database.drop();
});

it('should have the doctor end although the database does not answer', async () => {
  const database = await createTestDatabase();
  const proxy = await TcpProxy.start(database.url);
  proxy.freeze();
  const { code, stdout } = await outcomeOfCommandLine('doctor', serviceVariables(proxy.url));
  proxy.restore();
  await proxy.close();
  await database.drop();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fault +database +cannot connect to database .*timeout/m);
});

describeWithPgBouncer('plant-store doctor, behind PgBouncer in transaction mode', () => {
  it('should say that the URL does not name the pooler, and be content if it does', async () => {
    const database = await createTestDatabase();
    const pooler = await PgBouncer.start(database.url, { pool_mode: 'transaction', default_pool_size: '4' });
    const examine = async (url: string): Promise<Finding | undefined> => {
      const { stdout } = await outcomeOfCommandLine('doctor --json', serviceVariables(url));
      return (JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'pooler');
    };
    try {
      expect(await examine(pooler.urlOf(database.url))).toMatchObject({
        state: 'fault',
        advice: 'Add pgbouncer=true to DATABASE_URL.',
      });
      expect(await examine(pooler.urlOf(database.url, { pgbouncer: 'true' }))).toMatchObject({ state: 'ok' });
    } finally {
      await pooler[Symbol.asyncDispose]();
      await database.drop();
    }
  });
});
