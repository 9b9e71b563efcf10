import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { accepts } from './support/accepts.js';
import { RawConnection, type RawResponse } from './support/raw-connection.js';
import { postHead } from './support/request.js';
import { TableLock } from './support/table-lock.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { until } from './support/until.js';
import { WorkersService } from './support/workers-service.js';

const STOPPING = 'Stopping; requests in flight are answered first';

describe('A service of several workers', () => {
  let database: TestDatabase;
  let service: WorkersService;

  beforeEach(async () => {
    database = await createTestDatabase();
    service = await start();
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  });

  function start(variables: Record<string, string> = {}): Promise<WorkersService> {
    const patient = { STORAGE_TIMEOUT: '20000', REQUEST_TIMEOUT: '60000' };
    return WorkersService.start(database.url, { ...patient, ...variables }, { detached: true });
  }

  const refusing = (): Promise<void> => until(async () => !(await accepts(service.port)));

  /** One for each worker, as connections are dealt out in turn; resolves to their answers once both are in flight. */
  async function inFlight(lock: TableLock): Promise<Promise<(RawResponse | undefined)[]>[]> {
    const posts = [1, 2].map((id) => service.process.post(`{"id":${id},"name":"Rose"}`).catch(() => undefined));
    await lock.awaited(2);
    // In an array, or it would be awaited here.
    return [Promise.all(posts)];
  }

  it.each([
    ['SIGTERM', 'the primary process'],
    ['SIGINT', 'the primary process'],
    ['SIGINT', 'all processes, as by a Ctrl-C'],
    ['SIGTERM', 'all processes, as by a service manager'],
  ] as const)(
    'should, at a %s to %s, let the requests in flight finish and nothing else begin',
    async (signal, whom) => {
      await using lock = await TableLock.take(database);
      const [answers] = await inFlight(lock);

      process.kill(whom === 'the primary process' ? service.process.pid : -service.process.pid, signal);
      await refusing();
      expect(await service.managed('/readyz')).toEqual([
        503,
        { status: 'unavailable', reason: 'the service is shutting down', workers: { serving: 2, configured: 2 } },
      ]);
      expect(await service.managed('/livez')).toEqual([200, { status: 'ok' }]);
      expect((await service.metrics()).get('plant_store_workers')).toBe(2);

      await lock.release();
      expect((await answers)?.map((answer) => answer?.status)).toEqual([200, 200]);
      expect(await service.process.ended).toBe(0);
      expect(await database.query('SELECT id FROM plants ORDER BY id')).toEqual([{ id: '1' }, { id: '2' }]);
      expect(service.logged(STOPPING)).toHaveLength(1);
      expect(service.process.log).toHaveLength(2);
      expect(service.process.stderr).toBe('');
    },
  );

  it('should end at once, all of its processes, at a second signal', async () => {
    await using lock = await TableLock.take(database);
    const [answers] = await inFlight(lock);
    const workers = await service.workers();
    service.process.signal('SIGTERM');
    await refusing();

    // Until it counts as another one than the first.
    const again = setInterval(() => {
      service.process.signal('SIGINT');
    }, 50);
    expect(await service.process.ended).toBe(130);
    clearInterval(again);
    await until(() => workers.every((worker) => !isAlive(worker)));
    expect(await answers).toEqual([undefined, undefined]);
  });

  it('should leave no worker behind where the primary process is killed, once it has answered what was in flight', async () => {
    await using lock = await TableLock.take(database);
    const [answers] = await inFlight(lock);
    const workers = await service.workers();

    service.process.signal('SIGKILL');
    await refusing();
    await until(() => service.logged('The primary process has ended').length === 2);
    await lock.release();
    expect((await answers)?.map((answer) => answer?.status)).toEqual([200, 200]);
    expect(await service.process.ended).toBe('SIGKILL');
    await until(() => workers.every((worker) => !isAlive(worker)));
  });

  it('should neither replace a worker that dies meanwhile nor wait for it', async () => {
    await using lock = await TableLock.take(database);
    const [answers] = await inFlight(lock);
    const [worker = 0] = await service.workers();
    service.process.signal('SIGTERM');
    await refusing();

    process.kill(worker, 'SIGKILL');
    await until(() => service.logged(`(process ${worker}) was ended by SIGKILL`).length === 1);
    await lock.release();
    const statuses = (await answers)?.map((answer) => answer?.status);
    expect(statuses?.filter((status) => status === 200)).toHaveLength(1);
    expect(await service.process.ended).toBe(0);
    expect(service.logged('the next one starts')).toEqual([]);
  });

  it('should not wait for ever for a worker that does not stop', async () => {
    await service[Symbol.asyncDispose]();
    service = await start({ STORAGE_TIMEOUT: '100', REQUEST_TIMEOUT: '100' });
    const [worker = 0] = await service.workers();
    process.kill(worker, 'SIGSTOP');
    service.process.signal('SIGTERM');

    expect(await service.process.ended).toBe(0);
    expect(service.logged(`(process ${worker}) does not stop, and is killed`)).toHaveLength(1);
  });

  it('should replace a worker that dies while a connection is handed over to it, and end all the same', async () => {
    const [worker = 0] = await service.workers();
    process.kill(worker, 'SIGSTOP');
    // Dealt out in turn, so that one of them is for this worker, which can't take it.
    const connections = await Promise.all([1, 2].map(() => RawConnection.open(service.port)));
    for (const connection of connections) connection.send(postHead('', '{}'), '{}');
    await Promise.race(connections.map((connection) => connection.response()));
    // So that the primary process hears of its exit and of the end of its connection at once, as under load.
    service.process.signal('SIGSTOP');
    process.kill(worker, 'SIGKILL');
    service.process.signal('SIGCONT');
    await until(() => service.logged(' listens on ').length === 1);

    service.process.signal('SIGTERM');
    await refusing();
    expect(await service.process.ended).toBe(0);
    for (const connection of connections) connection.close();
  });

  it('should stop while a worker waits to be started anew', async () => {
    await database.query(`
      INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
      VALUES ('newer', 'newer', '29990101000000_newer', now(), 1)`);
    const [worker = 0] = await service.workers();
    process.kill(worker, 'SIGKILL');
    await until(() => service.logged('the next one starts in 400 ms').length === 1);
    service.process.signal('SIGTERM');

    expect(await service.process.ended).toBe(0);
    expect(service.logged('the next one starts in 800 ms')).toEqual([]);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
