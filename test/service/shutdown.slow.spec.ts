import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { accepts } from '../support/http/accepts.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { ManagedService, PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const PLANT = '{"id":1,"name":"Rose"}';

describe('Shutdown', () => {
  let database: TestDatabase;
  let service: PlantStoreProcess;
  let running: ManagedService;

  beforeEach(async () => {
    // A time limit longer than a test may take.
    running = await ManagedService.start({ STORAGE_TIMEOUT: '20000', REQUEST_TIMEOUT: '60000' });
    ({ database, process: service } = running);
  });
  afterEach(() => running[Symbol.asyncDispose]());

  async function managed(path: string): Promise<[number, unknown]> {
    const response = await running.managed(path);
    return [response.status, await response.json()];
  }

  const refusing = (): Promise<void> => until(async () => !(await accepts(service.port)));

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'should, at %s, let the requests in flight finish and nothing else begin',
    async (signal) => {
      expect(await managed('/readyz')).toEqual([200, { status: 'ok' }]);
      await using lock = await TableLock.take(database);
      const answer = service.post(PLANT);
      await lock.awaited();

      service.signal(signal);
      await refusing();
      expect(await managed('/readyz')).toEqual([
        503,
        { status: 'unavailable', reason: 'the service is shutting down' },
      ]);
      expect(await managed('/livez')).toEqual([200, { status: 'ok' }]);

      await lock.release();
      expect(await answer).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
      expect(await service.ended).toBe(0);
      expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
      expect(service.stderr).toBe('');
      expect(service.log.filter(({ level }) => level !== 'info')).toEqual([]);
    },
  );

  it('should not wait for connections that are idle, before or after their first request', async () => {
    using used = await RawConnection.open(service.port);
    using silent = await RawConnection.open(service.port);
    used.send(postHead('', PLANT), PLANT);
    expect(await used.response()).toMatchObject({ status: 200 });

    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    await Promise.all([used.closed(), silent.closed()]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('should end at once at a second signal, a %s', async (signal, code) => {
    await using lock = await TableLock.take(database);
    using connection = await RawConnection.open(service.port);
    connection.send(postHead('', PLANT), PLANT);
    await lock.awaited();
    service.signal('SIGTERM');
    await refusing();

    // Until it counts as another one than the first.
    const again = setInterval(() => {
      service.signal(signal);
    }, 50);
    expect(await service.ended).toBe(code);
    clearInterval(again);
  });

  it('should take for one signal what comes twice within a moment, as a Ctrl-C under npm does', async () => {
    await using lock = await TableLock.take(database);
    const answer = service.post(PLANT);
    await lock.awaited();
    service.signal('SIGINT');
    service.signal('SIGTERM');
    await refusing();
    await lock.release();

    expect(await answer).toMatchObject({ status: 200 });
    expect(await service.ended).toBe(0);
  });
});

describe('Shutdown, with clients that keep it waiting', () => {
  it('should not wait longer than REQUEST_TIMEOUT for what they do not send, and not for what they do not take', async () => {
    const database = await createTestDatabase();
    await using hurried = await PlantStoreProcess.serve(database.url, {
      REQUEST_TIMEOUT: '500',
      STORAGE_TIMEOUT: '500',
    });
    using headers = await RawConnection.open(hurried.port);
    using body = await RawConnection.open(hurried.port);
    using reader = await RawConnection.open(hurried.port);
    reader.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(30));
    await once(reader.socket, 'data');
    reader.socket.pause();
    headers.send(postHead('', PLANT).slice(0, 40));
    body.send(postHead('', PLANT) + PLANT.slice(0, 5));
    // The service has read them once it has answered a later one.
    expect(await hurried.post(PLANT)).toMatchObject({ status: 200 });

    hurried.signal('SIGTERM');
    let code: number | NodeJS.Signals | undefined;
    void hurried.ended.then((ended) => (code = ended));
    // Gives up in time for the test to end, and with it a process that does not.
    await until(() => code !== undefined);
    expect(code).toBe(0);
    await database.drop();
  });
});
