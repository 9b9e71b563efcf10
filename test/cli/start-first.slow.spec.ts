import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';

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
    service = new PlantStoreProcess(['serve'], { cwd: folder, variables: { PORT: '0', MANAGEMENT_PORT: '0' } });
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
      variables: { PORT: '0', MANAGEMENT_PORT: '0', LOG_FORMAT: 'json' },
      detached: true,
    });
    const [command] = await service.printed(CURL);
    expect(await paste(command)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
    // The token is printed once, in the command.
    expect(service.output.split(tokenIn(command) ?? '')).toHaveLength(2);

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
    const other = new PlantStoreProcess(['serve'], { cwd: folder, variables: { PORT: '0', MANAGEMENT_PORT: '0' } });
    expect(await other.ended).toBe(1);
    expect(other.stderr).toMatch(/^plant-store: Another plant store \(process \d+\) is running with the data in /);
    expect(other.stderr).toMatch('set DATABASE_URL');
    expect(await paste(first)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
  });

  it('should make a token for a database of the user too', async () => {
    const database = await createTestDatabase();
    const variables = { PORT: '0', MANAGEMENT_PORT: '0', DATABASE_URL: database.url };
    service = new PlantStoreProcess(['serve'], { cwd: folder, variables });
    const [command] = await service.printed(CURL);
    expect(await paste(command)).toEqual(['200', '{"name":"Rose","tag":"flower"}']);
    expect(await database.query('SELECT name FROM plants')).toEqual([{ name: 'Rose' }]);
    await stop();
    await database.drop();
  });
});
