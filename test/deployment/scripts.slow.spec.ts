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

    // Static access tokens stay as long as they are given, passwords for ever.
    writeFileSync(join(folder, 'own'), `${OWN}\n`);
    const given = { DATABASE_PASSWORD: 'my own', DATABASE_PASSWORD_FILE: '', ACCESS_TOKENS_FILE: join(folder, 'own') };
    expect((await provide(given)).output).not.toContain(OWN);
    expect([read('shared/access-tokens'), mode('shared/access-tokens')]).toEqual([OWN, 0o400]);
    await provide({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '' });
    expect(files.map(read)).toEqual(['my own', made[1]]);
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

describe('healthcheck.mjs', () => {
  it('should turn the status of /readyz into the exit code, and fail without an answer', async () => {
    let status = 200;
    const server = createServer((request, response) => {
      response.writeHead(status).end(`asked for ${String(request.url)}`);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const MANAGEMENT_PORT = String((server.address() as AddressInfo).port);
    const check = (): Promise<Outcome> =>
      run('node', ['deploy/docker/healthcheck.mjs'], { MANAGEMENT_PORT, MANAGEMENT_HOST: '0.0.0.0' });
    expect(await check()).toEqual({ code: 0, output: 'asked for /readyz' });
    status = 503;
    expect(await check()).toEqual({ code: 1, output: 'asked for /readyz' });
    server.close();
    expect(await check()).toEqual({ code: 1, output: expect.stringContaining('ECONNREFUSED') });
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
