import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
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
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database/test-database.js';
import { portOf } from '../support/http/free-port.js';
import { PlantStoreProcess } from '../support/service/process.js';

type Outcome = Readonly<{ code: number | string; output: string }>;

async function runScript(name: string, args: string[], variables: Record<string, string> = {}): Promise<Outcome> {
  const run = await PlantStoreProcess.run(args, variables, { script: resolve('deploy/docker', name) });
  return { code: await run.ended, output: run.output };
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
    runScript('credentials.mjs', [join(folder, 'shared'), join(folder, 'owners')], env);

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
    const given = { DATABASE_PASSWORD: OWN, DATABASE_PASSWORD_FILE: 'any', ACCESS_TOKENS_FILE: '/dev/null' };
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
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const variables = { MANAGEMENT_PORT: String(portOf(server)), MANAGEMENT_HOST: '0.0.0.0' };
    const check = (): Promise<Outcome> => runScript('healthcheck.mjs', [], variables);
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
    const env = { PATH: process.env.PATH, PLANT_STORE_CONFIGURATION: folder, PLANT_STORE_HOME: folder };
    const { stderr } = await promisify(execFile)('sh', ['deploy/systemd/plant-store', 'token', 'list'], { env });
    await database.drop();
    expect(stderr).toContain('no access tokens yet');
  });
});
