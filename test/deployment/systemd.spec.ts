import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEnvironment, SECRETS, VARIABLES } from '../../src/service/environment.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const inDeploy = (name: string): string => join(ROOT, 'deploy/systemd', name);
const textOf = (name: string): string => readFileSync(inDeploy(name), 'utf8');

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  const { PATH, HOME } = process.env;
  return new Promise((resolve) => {
    const child = execFile(file, args, { env: { PATH, HOME, ...env } }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

describe('plant-store.service', () => {
  const unit = textOf('plant-store.service');
  const valuesOf = (key: string): string[] =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);
  const numberOf = (key: string): number => Number(valuesOf(key)[0]);
  const { environment: defaults } = readEnvironment({});

  it('should run what npm start runs, from the package, and wait for it with what the package has', () => {
    const { scripts, bin, files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
      bin: Record<string, string>;
      files: string[];
    };
    const [, flags = ''] = /node (--\S+) scripts\/start.mjs serve$/.exec(scripts.start ?? '') ?? [];
    const main = `node_modules/plant-store/${bin['plant-store'] ?? ''}`;
    expect(valuesOf('ExecStart')).toEqual([`/usr/bin/node ${flags} ${main} serve`]);
    const wait = 'node_modules/plant-store/deploy/systemd/wait-until-ready.mjs';
    expect(valuesOf('ExecStartPost')).toEqual([`/usr/bin/node ${wait} 60`]);
    expect(files).toContain('deploy');
    expect(valuesOf('Type')).toEqual(['exec']);
    expect(numberOf('TimeoutStartSec')).toBeGreaterThan(60);
  });

  it('should be started again after a failure, but not for a configuration that cannot be used', async () => {
    expect(valuesOf('Restart')).toEqual(['on-failure']);
    expect(await outcomeOfCommandLine('serve', { PORT: 'many' })).toMatchObject({
      code: numberOf('RestartPreventExitStatus'),
    });
  });

  it('should give the service the time, the memory and the descriptors that it may take', () => {
    expect(numberOf('TimeoutStopSec') * 1000).toBeGreaterThan(defaults.SHUTDOWN_TIMEOUT);
    expect(numberOf('LimitNOFILE')).toBeGreaterThan(defaults.MAX_CONNECTIONS + 1000);
    expect(valuesOf('MemoryMax')).toEqual(['1G']);
  });

  it('should take secrets from files that the service has copies of', () => {
    expect(valuesOf('LoadCredential')).toEqual(['database-password:/etc/plant-store/database-password']);
    expect(valuesOf('Environment')).toContain('DATABASE_PASSWORD_FILE=%d/database-password');
    expect(valuesOf('EnvironmentFile')).toEqual(['/etc/plant-store/plant-store.env']);
  });

  it('should be what systemd accepts, if it is installed here', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-unit-'));
    const path = join(folder, 'plant-store.service');
    // It looks for the program, too.
    await writeFile(path, unit.replaceAll('/usr/bin/node', process.execPath));
    const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' });
    await rm(folder, { recursive: true });
    // Lines are `Key=value`, comments or sections, with it and without it.
    const lines = unit.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines.filter((line) => !/^(\[(Unit|Service|Install)\]|[A-Z]\w+=.*)$/.test(line))).toEqual([]);
    if (!error) expect([status, stderr]).toEqual([0, '']);
  });
});

describe('the files of the configuration', () => {
  const namesIn = (file: string): string[] => [...textOf(file).matchAll(/^(\w+)='.*'$/gm)].map(([, name = '']) => name);

  it('should set variables that exist, in quotes that systemd and a shell know', () => {
    const known = [...Object.keys(VARIABLES), ...SECRETS.map((name) => `${name}_FILE`)];
    const names = [...namesIn('plant-store.env'), ...namesIn('admin.env')];
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    for (const file of ['plant-store.env', 'admin.env'])
      expect(
        textOf(file)
          .split('\n')
          .filter((line) => line !== '' && !/^(#|\w+='[^']*'$)/.test(line)),
      ).toEqual([]);
  });

  it('should hold no secret', () => {
    expect(textOf('plant-store.env') + textOf('admin.env')).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@|PASSWORD=|TOKENS=/);
  });

  it('should let the service know nothing of the owner of the tables', () => {
    expect(namesIn('plant-store.env').filter((name) => name.startsWith('MIGRATION_'))).toEqual([]);
  });
});

describe('deploy/systemd/plant-store', () => {
  let database: TestDatabase;
  let folder: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'plant-store-etc-'));
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it('should run a command with the configuration of the service and the secrets in files', async () => {
    const url = new URL(database.url);
    await writeFile(join(folder, 'password'), url.password);
    url.password = '';
    await writeFile(join(folder, 'plant-store.env'), `DATABASE_URL='${url.href}'\n`);
    await writeFile(join(folder, 'admin.env'), `DATABASE_PASSWORD_FILE='${join(folder, 'password')}'\n`);
    await mkdir(join(folder, 'node_modules'));
    await symlink(ROOT, join(folder, 'node_modules/plant-store'));
    const settings = { PLANT_STORE_CONFIGURATION: folder, PLANT_STORE_HOME: folder };
    const command = (...args: string[]) => run('sh', [inDeploy('plant-store'), ...args], settings);
    expect(await command('token', 'list')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('no access tokens yet'),
    });
    expect(await command('token', 'revoke', 'no one')).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('wait-until-ready.mjs', () => {
  const wait = (seconds: number, env: Record<string, string>): Promise<Outcome> =>
    run(process.execPath, [inDeploy('wait-until-ready.mjs'), String(seconds)], env);

  async function serving(status: () => number, use: (port: string) => Promise<void>): Promise<void> {
    const server = createServer((request, response) => {
      response.writeHead(status()).end(`{"reason":"asked for ${String(request.url)}"}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await use(String((server.address() as AddressInfo).port)).finally(() => server.close());
  }

  it('should end when the service is ready', async () => {
    let asked = 0;
    const status = (): number => (++asked > 2 ? 200 : 503);
    await serving(status, async (MANAGEMENT_PORT) => {
      expect(await wait(60, { MANAGEMENT_PORT, MANAGEMENT_HOST: '0.0.0.0', MAINPID: String(process.pid) })).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      });
      expect(asked).toBe(3);
    });
  });

  it('should say why the service is not ready in time', () =>
    serving(
      () => 503,
      async (MANAGEMENT_PORT) => {
        const stderr = 'plant-store: not ready within 0 s: {"reason":"asked for /readyz"}\n';
        expect(await wait(0, { MANAGEMENT_PORT })).toEqual({ code: 1, stdout: '', stderr });
      },
    ));

  it('should not wait for a service that has ended', async () => {
    const { pid } = spawnSync('true');
    await until(() => spawnSync('kill', ['-0', String(pid)]).status !== 0);
    expect(await wait(60, { MANAGEMENT_PORT: '1', MAINPID: String(pid) })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'plant-store: the service has ended; its log says why\n',
    });
  });
});
