import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CreatingClients } from './support/creating-clients.js';
import { freePort } from './support/free-port.js';
import { RawConnection } from './support/raw-connection.js';
import { postHead } from './support/request.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { until } from './support/until.js';
import { WorkersService } from './support/workers-service.js';

const READY = [200, { status: 'ok', workers: { serving: 2, configured: 2 } }];
const NEWER_MIGRATION = `
  INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
  VALUES ('newer', 'newer', '29990101000000_newer', now(), 1)`;

describe('A service of several workers', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  const storedIds = async (): Promise<number[]> =>
    (await database.query<{ id: string }>('SELECT id FROM plants ORDER BY id')).map(({ id }) => Number(id));

  const replaced = (service: WorkersService): Promise<void> =>
    until(async () => service.logged(/ listens on /).length === 1 && (await service.workers()).length === 2);

  async function kill(service: WorkersService, signal: NodeJS.Signals = 'SIGKILL'): Promise<number> {
    const [worker = 0] = await service.workers();
    process.kill(worker, signal);
    return worker;
  }

  it('should be ready when all of them are, and say so once', async () => {
    await using service = await WorkersService.start(database.url);
    expect(await service.managed('/readyz')).toEqual(READY);
    expect(await service.workers()).toHaveLength(2);
    expect(service.process.log).toEqual([
      expect.objectContaining({
        message: `Listening on http://127.0.0.1:${service.port}/plants`,
        pid: service.process.pid,
      }),
    ]);
  });

  it('should have one process and no other where one is wanted', async () => {
    await using service = await WorkersService.start(database.url, { WORKERS: '1' });
    expect(await service.workers()).toEqual([]);
    expect(await service.managed('/readyz')).toEqual([200, { status: 'ok' }]);
  });

  it('should share connections out, and keep those of the others when one dies', async () => {
    await using service = await WorkersService.start(database.url);
    const connections = await Promise.all(Array.from({ length: 4 }, () => RawConnection.open(service.port)));
    let id = 0;
    const answers = (): Promise<(number | undefined)[]> =>
      Promise.all(
        connections.map(async (connection) => {
          const body = `{"id":${++id},"name":"Rose"}`;
          connection.send(postHead('', body), body);
          return (await connection.response().catch(() => undefined))?.status;
        }),
      );
    expect(await answers()).toEqual([200, 200, 200, 200]);

    const worker = await kill(service);
    await until(() => service.logged(`(process ${worker}) was ended by SIGKILL`).length === 1);
    const left = await answers();
    // Each has one at least; the others go to who is ready first.
    expect(new Set(left)).toEqual(new Set([200, undefined]));
    for (const connection of connections) connection.close();
  });

  it('should replace one that dies under load, and have stored all that was answered with 200', async () => {
    await using service = await WorkersService.start(database.url);
    await using clients = CreatingClients.start(service.port, 8);
    await until(() => clients.created.length > 100);

    const worker = await kill(service);
    const before = clients.created.length;
    await until(() => clients.created.length > before + 100);
    await replaced(service);
    expect(await service.workers()).not.toContain(worker);
    expect(await service.managed('/readyz')).toEqual(READY);
    const after = clients.created.length;
    await until(() => clients.created.length > after + 100);
    await clients.stop();

    const stored = new Set(await storedIds());
    expect(clients.created.filter((id) => !stored.has(id))).toEqual([]);
    expect(clients.refusals).toEqual([]);
    expect(service.process.log.slice(1)).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: expect.stringMatching(
          `^Worker \\d \\(process ${worker}\\) was ended by SIGKILL; the next one starts in 100 ms$`,
        ) as unknown,
      }),
      expect.objectContaining({
        level: 'log',
        message: expect.stringMatching(
          `^Worker \\d \\(process \\d+\\) listens on http://127.0.0.1:${service.port}$`,
        ) as unknown,
      }),
    ]);
  });

  it('should wait longer each time one can not start, go on with the others, and recover', async () => {
    await using service = await WorkersService.start(database.url);
    await database.query(NEWER_MIGRATION);
    await kill(service);

    const refused = /could not start \(.*29990101000000_newer.*\); the next one starts in (\d+) ms/s;
    await until(() => service.logged(refused).length === 2);
    expect(service.logged(refused).map(({ message }) => refused.exec(String(message))?.[1])).toEqual(['200', '400']);
    expect(await service.managed('/readyz')).toEqual([200, { status: 'ok', workers: { serving: 1, configured: 2 } }]);
    expect(await service.process.post('{"id":1,"name":"Rose"}')).toMatchObject({ status: 200 });

    await database.query(`DELETE FROM _prisma_migrations WHERE id = 'newer'`);
    await replaced(service);
    expect(await service.managed('/readyz')).toEqual(READY);
  });

  it('should not be ready while none serves, and come back on the same port', async () => {
    await using service = await WorkersService.start(database.url, { PORT: String(await freePort()) });
    for (const worker of await service.workers()) process.kill(worker, 'SIGKILL');
    const none = { status: 'unavailable', reason: 'none of 2 workers serves', workers: { serving: 0, configured: 2 } };
    await until(() => service.logged('was ended by SIGKILL').length === 2);
    expect(await service.managed('/readyz')).toEqual([503, none]);
    expect(await service.managed('/livez')).toEqual([200, { status: 'ok' }]);

    await until(() => service.logged(' listens on ').length === 2);
    expect(await service.managed('/readyz')).toEqual(READY);
    expect(await service.process.post('{"id":1,"name":"Rose"}')).toMatchObject({ status: 200 });
  });

  it('should be ready while one of them can tell so, though another does not answer', async () => {
    await using service = await WorkersService.start(database.url);
    const worker = await kill(service, 'SIGSTOP');
    expect(await service.managed('/readyz')).toEqual(READY);
    process.kill(worker, 'SIGCONT');
  });

  it('should tell what the workers tell of the database, and recover', async () => {
    const proxy = await TcpProxy.start(database.url);
    await using service = await WorkersService.start(proxy.url, { STORAGE_TIMEOUT: '1200' });
    proxy.reset();
    expect(await service.managed('/readyz')).toEqual([
      503,
      {
        status: 'unavailable',
        reason: 'the database cannot be reached',
        workers: { serving: 2, configured: 2 },
      },
    ]);
    proxy.restore();
    expect(await service.managed('/readyz')).toEqual(READY);
    await service[Symbol.asyncDispose]();
    await proxy.close();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('should not have its workers follow a %s by themselves', async (signal) => {
    await using service = await WorkersService.start(database.url);
    const workers = await service.workers();
    for (const worker of workers) process.kill(worker, signal);
    // By then each has had the signal.
    for (let id = 1; id <= 4; id++) {
      expect(await service.process.post(`{"id":${id},"name":"Rose"}`)).toMatchObject({ status: 200 });
    }
    expect(await service.workers()).toEqual(workers);
  });
});
