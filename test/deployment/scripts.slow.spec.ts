import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createTestDatabase } from '../support/database/test-database.js';
import { createTogether } from '../support/http/request.js';
import { startStoreOn } from '../support/service/store.js';

interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

function run(file: string, args: string[], variables: Record<string, string> = {}): Promise<Outcome> {
  return new Promise((done) => {
    const env = { PATH: process.env.PATH, ...variables };
    const child = execFile(file, args, { env }, (_, stdout, stderr) => {
      done({ code: child.exitCode, output: stdout + stderr });
    });
  });
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-scripts-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('credentials.mjs', () => {
  const OWN = 'my-own-secret-my-own-secret';
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8').trimEnd();
  const mode = (path: string): number => statSync(join(folder, path)).mode & 0o777;
  const provide = (env?: Record<string, string>): Promise<Outcome> =>
    run('node', ['deploy/docker/credentials.mjs', join(folder, 'shared'), join(folder, 'owners')], env);

  beforeEach(() => {
    mkdirSync(join(folder, 'shared'));
    mkdirSync(join(folder, 'owners'));
  });

  it('should make two database passwords once, for those who need them alone, and not show them', async () => {
    const { code, output } = await provide();
    expect(code).toBe(0);
    const files = ['shared/database-password', 'owners/database-password'];
    const made = files.map(read);
    expect(new Set(made).size).toBe(2);
    for (const password of made) expect(password).toMatch(/^[\w-]{43}$/);
    for (const password of made) expect(output).not.toContain(password);
    expect(files.map(mode)).toEqual([0o440, 0o440]);
    expect(readdirSync(join(folder, 'shared'))).toEqual(['database-password']);

    await provide({ DATABASE_PASSWORD: 'my own', DATABASE_PASSWORD_FILE: '' });
    await provide();
    expect(files.map(read)).toEqual(['my own', made[1]]);
  });

  it('should have static access tokens as long as they are given', async () => {
    writeFileSync(join(folder, 'own'), `${OWN}\n`);
    const { output } = await provide({ ACCESS_TOKENS_FILE: join(folder, 'own') });
    expect([read('shared/access-tokens'), mode('shared/access-tokens')]).toEqual([OWN, 0o400]);
    expect(output).not.toContain(OWN);
    await provide({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '' });
    expect(readdirSync(join(folder, 'shared'))).toEqual(['database-password']);
  });

  it('should name every fault at once, and then write nothing', async () => {
    const given = { DATABASE_PASSWORD: OWN, DATABASE_PASSWORD_FILE: 'any', ACCESS_TOKENS_FILE: 'deploy/docker/none' };
    const { code, output } = await provide({ ...given, MIGRATION_DATABASE_PASSWORD_FILE: join(folder, 'none') });
    expect(code).toBe(1);
    const faults = [
      /^DATABASE_PASSWORD: is set, and so is DATABASE_PASSWORD_FILE/m,
      /^MIGRATION_DATABASE_PASSWORD_FILE: cannot be read \(ENOENT\)/m,
      /^ACCESS_TOKENS_FILE: is empty/m,
    ];
    for (const fault of faults) expect(output).toMatch(fault);
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(['owners', 'shared']);
  });
});

describe.each([
  ['healthcheck.mjs', 'deploy/docker/healthcheck.mjs'],
  ['wait-until-ready.mjs', 'deploy/systemd/wait-until-ready.mjs'],
])('%s', (_, script) => {
  it.each([
    [200, 0],
    [503, 1],
  ])('should turn status %d of /readyz into exit code %d', async (status, code) => {
    const server = createServer((request, response) => {
      response.writeHead(status).end(`asked for ${String(request.url)}`);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const MANAGEMENT_PORT = String((server.address() as AddressInfo).port);
    const outcome = await run('node', [script, '0'], { MANAGEMENT_PORT, MANAGEMENT_HOST: '0.0.0.0' });
    server.close();
    expect(outcome.code).toBe(code);
    if (code === 1) expect(outcome.output).toContain('asked for /readyz');
  });

  it('should fail without an answer', async () => {
    expect(await run('node', [script, '0'], { MANAGEMENT_PORT: '1' })).toEqual({
      code: 1,
      output: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('deploy/systemd/plant-store', () => {
  it('should run a command with the configuration of the service and the secrets in files', async () => {
    const database = await createTestDatabase();
    const url = new URL(database.url);
    writeFileSync(join(folder, 'password'), url.password);
    url.password = '';
    writeFileSync(join(folder, 'plant-store.env'), `DATABASE_URL='${url.href}'\n`);
    writeFileSync(join(folder, 'admin.env'), `DATABASE_PASSWORD_FILE='${join(folder, 'password')}'\n`);
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(resolve('.'), join(folder, 'node_modules/plant-store'));
    const settings = { PLANT_STORE_CONFIGURATION: folder, PLANT_STORE_HOME: folder };
    const outcome = await run('sh', ['deploy/systemd/plant-store', 'token', 'list'], settings);
    await database.drop();
    expect(outcome).toEqual({ code: 0, output: expect.stringContaining('no access tokens yet') });
  });
});

describe('deploy/postgres/partitions.sql', () => {
  it('should leave a table whose creates are shared by all partitions, each id once', async () => {
    const database = await createTestDatabase();
    await database.query(`INSERT INTO plants (id, name) VALUES (1, 'Oak')`);
    await database.query(readFileSync('deploy/postgres/partitions.sql', 'utf8'));
    const store = await startStoreOn(database);
    const bodies = Array.from({ length: 31 }, (_, id) => ({ body: `{"id":${id},"name":"Rose"}` }));
    const answers = await createTogether(store.port, bodies);
    expect(answers.map((answer) => answer?.status)).toEqual(bodies.map((_, id) => (id === 1 ? 400 : 200)));
    expect(store.statistics).toMatchObject({ created: 30, statementPlants: { count: 1 } });
    expect(await database.query('SELECT DISTINCT tableoid FROM plants')).toHaveLength(4);
    await store.stop();
    await database.drop();
  });
});
