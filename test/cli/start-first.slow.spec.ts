import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';

const PORTS = { PORT: '0', MANAGEMENT_PORT: '0' };
const CURL = /^curl .*\/plants .*$/m;
const SCRIPT = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url));
const SECRETS = /Bearer ([\w-]{20,})'/;

describe('plant-store serve, without any configuration', () => {
  let folder: string;
  let service: PlantStoreProcess | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-start-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  afterEach(stop);

  async function stop(): Promise<void> {
    service?.signal('SIGINT');
    await service?.ended;
    service = undefined;
  }

  /** Starts it on any free ports, as far as they may be chosen. Returns the command that it prints. */
  async function start(): Promise<string> {
    service = new PlantStoreProcess(['serve'], { cwd: folder, variables: PORTS });
    const [command] = await service.printed(CURL);
    return command;
  }

  async function paste(command: string): Promise<[status: string, body: string]> {
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent --write-out '\\n%{http_code}'`]);
    const [body = '', status = ''] = stdout.split('\n');
    return [status, body];
  }

  const tokenIn = (command: string): string | undefined => SECRETS.exec(command)?.[1];

  it('should print a command that creates a plant, and keep plant and token until the next start', async () => {
    const first = await start();
    expect(await paste(first)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
    const [status, body] = await paste(first);
    expect([status, body]).toEqual(['400', expect.stringMatching('"error":40901')]);

    const token = join(folder, '.data/access-token');
    expect((await stat(token)).mode & 0o777).toBe(0o600);
    expect((await readFile(token, 'utf8')).trim()).toBe(tokenIn(first));

    service?.signal('SIGINT');
    expect(await service?.ended).toBe(0);

    const second = await start();
    expect(tokenIn(second)).toBe(tokenIn(first));
    // The id of the first command, at the port of the second one.
    const [, url = ''] = /(http:\S+)/.exec(second) ?? [];
    expect(await paste(first.replace(/http:\S+/, url))).toEqual(['400', expect.stringMatching('"error":40901')]);
    expect(await paste(second)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
  });

  it('should run by npm start, and end by a Ctrl-C, which all of its processes get', async () => {
    service = new PlantStoreProcess(['serve'], {
      script: SCRIPT,
      cwd: folder,
      variables: PORTS,
      detached: true,
    });
    const [command] = await service.printed(CURL);
    expect(await paste(command)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
    const token = tokenIn(command) ?? '';
    const url = /Listening on (http:\/\/[^/]+)/.exec(service.output)?.[1] ?? '';
    const lines = service.stdout.split('\n');
    expect(
      lines.slice(
        lines.findIndex((line) => line.startsWith('Plant Store')),
        -1,
      ),
    ).toEqual([
      expect.stringMatching(/^Plant Store \d+\.\d+\.\d+$/),
      '',
      `  Plants  ${url}/plants`,
      `  Docs    ${url}/docs#token=${token}`,
      `  Data    ${folder}/.data/postgres`,
      '  Only this machine can connect: HOST=0.0.0.0 lets others, as a container needs it',
      '',
      'Create a plant:',
      '',
      command,
      '',
      'Look into the database:',
      '',
      'psql "$(cat .data/database-url)"',
      '',
    ]);
    expect(service.output.split(token)).toHaveLength(3);

    process.kill(-service.pid, 'SIGINT');
    expect(await service.ended).toBe(0);
    expect(service.stderr).toBe('');
    expect(service.stdout.match(/Stopping;/g)).toHaveLength(1);
    await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
  });

  it('should make a new token if a crash left an empty one', async () => {
    const token = join(folder, '.data/access-token');
    await writeFile(token, '');
    const command = await start();
    expect(tokenIn(command)).toBe((await readFile(token, 'utf8')).trim());
    expect(await paste(command)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
  });

  it('should refuse to run twice in one folder, and not disturb the first', async () => {
    const first = await start();
    const other = new PlantStoreProcess(['serve'], { cwd: folder, variables: PORTS });
    expect(await other.ended).toBe(1);
    expect(other.stderr).toMatch(/^plant-store: Another plant store \(process \d+\) is running with the data in /);
    expect(other.stderr).toMatch('set DATABASE_URL');
    expect(await paste(first)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
  });

  it('should print no token that it did not make', async () => {
    service = new PlantStoreProcess(['serve'], { cwd: folder, variables: { ...PORTS, ACCESS_TOKENS: TOKEN } });
    await service.printed(/database-url/);
    expect(service.output).toMatch(/^ {2}Docs {4}http:\/\/127\.0\.0\.1:\d+\/docs$/m);
    expect(service.output).not.toContain('curl');
    expect(service.output).not.toContain(TOKEN);
  });

  it('should make no token on a database of the user, print nothing, and log how to create one', async () => {
    const database = await createTestDatabase();
    const elsewhere = await mkdtemp(join(tmpdir(), 'plant-store-start-'));
    const variables = { ...PORTS, DATABASE_URL: database.url };
    service = new PlantStoreProcess(['serve'], { cwd: elsewhere, variables });
    await service.printed(/No access token is valid now/);
    expect(service.output).not.toMatch(/curl|psql/);
    expect(await readdir(elsewhere)).toEqual([]);
    await stop();
    await database.drop();
    await rm(elsewhere, { recursive: true });
  });
});
