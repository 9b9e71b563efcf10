import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PlantStoreProcess } from './support/process.js';
import { expectFailure } from './support/process-failure.js';
import { TakenPort } from './support/taken-port.js';
import { serviceVariables } from './support/service-variables.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { until } from './support/until.js';
import { workersOf } from './support/worker-processes.js';

const SCRIPT = fileURLToPath(new URL('../scripts/start.mjs', import.meta.url));

describe('plant-store serve with several workers', () => {
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

  const variables = ({ url }: TestDatabase): Record<string, string> => ({
    ...serviceVariables(url),
    WORKERS: '3',
  });

  /** The same message, and nothing else, as of one process. */
  async function expectSameFailure(failing: Record<string, string>, ...reasons: (string | RegExp)[]): Promise<void> {
    await expectFailure('serve', failing, ...reasons);
    const several = await PlantStoreProcess.run('serve', failing);
    const single = await PlantStoreProcess.run('serve', { ...failing, WORKERS: '1' });
    expect(several.output).toBe(single.output);
  }

  it('should name all that is wrong with the configuration, once', () =>
    expectSameFailure({ ...variables(migrated), PORT: 'many', BODY_LIMIT: '-1' }, /^PORT: /m, /^BODY_LIMIT: /m));

  it.each(['PORT', 'MANAGEMENT_PORT'])('should say, once, that the %s is taken', async (name) => {
    const fault = new RegExp(`^${name}: ${taken.number} on "127\\.0\\.0\\.1" is taken by another program`, 'm');
    await expectSameFailure({ ...variables(migrated), [name]: String(taken.number) }, fault);
  });

  it('should say, once, that the address is of another machine', () =>
    // 192.0.2.0/24 is set aside for documentation (RFC 5737).
    expectSameFailure(
      { ...variables(migrated), HOST: '192.0.2.1' },
      /^HOST: "192\.0\.2\.1" is no address of this machine/m,
    ));

  it('should say, once, how to migrate a database that is not', async () => {
    const database = await createTestDatabase({ migrated: false });
    await expectSameFailure(variables(database), 'is not migrated', 'Run `plant-store migrate`');
    await database.drop();
  });

  it('should show the secrets neither in the arguments nor in the variables of its workers', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-workers-'));
    const service = new PlantStoreProcess(['serve'], {
      cwd: folder,
      variables: { DATABASE_URL: migrated.url, HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0', WORKERS: '2' },
    });
    await service.printed(/^curl .*$/m);
    const token = (await readFile(join(folder, '.data/access-token'), 'utf8')).trim();
    const [worker = 0] = await workersOf(service);
    if (process.platform === 'linux') {
      expect(await readFile(`/proc/${worker}/cmdline`, 'utf8')).not.toContain(token);
      expect(await readFile(`/proc/${worker}/environ`, 'utf8')).not.toContain(token);
    }
    expect(service.output.split(token)).toHaveLength(2);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    await rm(folder, { recursive: true });
  });

  it('should run by npm start without a database or a token, and end by a Ctrl-C', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-workers-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
    const service = new PlantStoreProcess(['serve'], {
      script: SCRIPT,
      cwd: folder,
      variables: { PORT: '0', MANAGEMENT_PORT: '0', WORKERS: '2', LOG_FORMAT: 'json' },
      detached: true,
    });
    const [, token = ''] = await service.printed(/Bearer ([\w-]{20,})'/);
    await service.listening();
    expect(await workersOf(service)).toHaveLength(2);
    for (const id of [1, 2, 3]) {
      expect(await service.post(`{"id":${id},"name":"Rose"}`, { Authorization: `Bearer ${token}` })).toMatchObject({
        status: 200,
      });
    }

    process.kill(-service.pid, 'SIGINT');
    expect(await service.ended).toBe(0);
    expect(service.stderr).toBe('');
    expect(service.stdout.match(/Stopping;/g)).toHaveLength(1);
    // Stopped, and not left behind.
    await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
    await rm(folder, { recursive: true });
  });

  it('should end with code 1 where a worker dies before it listens', async () => {
    const service = new PlantStoreProcess(['serve'], { variables: variables(migrated) });
    let workers: number[] = [];
    await until(async () => (workers = await workersOf(service)).length > 0);
    for (const worker of workers) process.kill(worker, 'SIGKILL');

    expect(await service.ended).toBe(1);
    expect(service.output).toMatch(/^plant-store: worker \d \(process \d+\) was ended by SIGKILL while it started\n$/);
  });
});
