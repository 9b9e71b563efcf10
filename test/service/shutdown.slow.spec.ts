import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { TableLock } from '../support/database/test-database.js';
import { Load } from '../support/http/load.js';
import { accepts } from '../support/http/free-port.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { ManagedService } from '../support/service/process.js';
import { Stopwatch, until } from '../support/until.js';

const CREATED = { status: 200, body: '{"name":"Rose"}' };
const CLOSE = { connection: 'close' };
/** Less than the 2 s that an idle connection has. */
const WITHIN_THE_GRACE_MS = 500;
const BEYOND_THE_GRACE_MS = 2500;
const CLIENTS = 64;

const plant = (id: number): string => `{"id":${id},"name":"Rose"}`;
const request = (id: number): string => postHead('', plant(id)) + plant(id);

describe('Shutdown', () => {
  let running: ManagedService;
  let errors: string[];
  const connections: RawConnection[] = [];

  async function start(variables: Record<string, string> = {}): Promise<void> {
    running = await ManagedService.start(variables);
  }

  beforeEach(() => {
    errors = [];
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    await running[Symbol.asyncDispose]();
  });

  async function open(): Promise<RawConnection> {
    const connection = await RawConnection.open(running.process.port);
    connection.socket.on('error', (error: NodeJS.ErrnoException) => errors.push(String(error.code)));
    connections.push(connection);
    return connection;
  }

  /** A connection that has had an answer. */
  async function openUsed(id: number): Promise<RawConnection> {
    const connection = await open();
    connection.send(request(id));
    expect(await connection.response()).toMatchObject(CREATED);
    return connection;
  }

  /** Sends a create, which waits for the lock. */
  async function openWaiting(id: number, lock: TableLock): Promise<RawConnection> {
    const connection = await open();
    connection.send(request(id));
    await lock.awaited();
    return connection;
  }

  const managed = async (path: string): Promise<[number, unknown]> => {
    const response = await running.managed(path);
    return [response.status, await response.json()];
  };
  const refusing = (): Promise<void> => until(async () => !(await accepts(running.process.port)));

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'should, at %s, let the requests in flight finish and nothing else begin',
    async (signal) => {
      await start({ STORAGE_TIMEOUT: '20000' });
      await using lock = await TableLock.take(running.database);
      const waiting = await openWaiting(1, lock);
      running.process.signal(signal);
      // For one, as a Ctrl-C under npm comes twice.
      if (signal === 'SIGINT') running.process.signal('SIGTERM');
      await refusing();
      const stopping = { status: 'unavailable', reason: 'the service is shutting down' };
      expect(await managed('/readyz')).toEqual([503, stopping]);
      expect(await managed('/livez')).toEqual([200, { status: 'ok' }]);

      await lock.release();
      expect(await waiting.response()).toMatchObject(CREATED);
      expect(await running.process.ended).toBe(0);
      expect(await running.database.query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
      expect(running.process.stderr).toBe('');
      expect(running.process.log.filter(({ level }) => level !== 'info')).toEqual([]);
    },
  );

  it('should go on for DRAIN_DELAY while it is not ready, and end each connection with its next answer', async () => {
    await start({ DRAIN_DELAY: '3000' });
    const idle = await openUsed(1);
    await using lock = await TableLock.take(running.database);
    const waiting = await openWaiting(2, lock);
    const begin = performance.now();
    running.process.signal('SIGTERM');
    await until(async () => (await running.managed('/readyz')).status === 503);
    const late = await open();
    late.send(request(3));
    await lock.release();
    for (const connection of [waiting, late]) {
      expect(await connection.response()).toMatchObject({ status: 200, headers: CLOSE });
      await connection.closed();
    }
    idle.send(request(4));
    expect(await idle.response()).toMatchObject({ status: 200, headers: CLOSE });
    expect(await running.process.ended).toBe(0);
    expect(performance.now() - begin).toBeGreaterThan(2900);
    expect(errors).toEqual([]);
  });

  it('should answer a request that comes on an idle connection within its grace, and close the others without a reset', async () => {
    await start();
    const [used, fresh, idle, silent] = [await openUsed(1), await open(), await openUsed(2), await open()];
    running.process.signal('SIGTERM');
    await refusing();
    await sleep(WITHIN_THE_GRACE_MS);
    used.send(request(3));
    fresh.send(request(4));
    for (const connection of [used, fresh])
      expect(await connection.response()).toMatchObject({ status: 200, headers: CLOSE });
    await Promise.all([used, fresh, idle, silent].map((connection) => connection.closed()));
    expect(await running.process.ended).toBe(0);
    expect(errors).toEqual([]);
  });

  it('should accept and answer what waited in the backlog at the signal', async () => {
    await start();
    running.process.signal('SIGSTOP');
    const waiting = await Promise.all(Array.from({ length: 20 }, open));
    for (const [at, connection] of waiting.entries()) connection.send(request(at + 1));
    running.process.signal('SIGTERM');
    running.process.signal('SIGCONT');
    for (const connection of waiting) expect(await connection.response()).toMatchObject(CREATED);
    expect(await running.process.ended).toBe(0);
    expect(errors).toEqual([]);
  });

  it('should let requests go on arriving until there would be no time to store them, and refuse the others', async () => {
    await start({ SHUTDOWN_TIMEOUT: '9000', STORAGE_TIMEOUT: '2000' });
    // In the midst of the first header fields, and of a body.
    const all = [
      await open(),
      await openUsed(1),
      await openUsed(2),
      await openUsed(7),
      await open(),
      await openUsed(8),
    ];
    const sent = (at: number): number => (at % 2 === 0 ? 60 : postHead('', plant(3)).length + 5);
    for (const [at, connection] of all.entries()) connection.send(request(at + 3).slice(0, sent(at)));
    // The service has read them once it has answered a later one.
    expect(await running.process.post(plant(9))).toMatchObject(CREATED);
    const begin = performance.now();
    running.process.signal('SIGTERM');
    await refusing();
    await sleep(BEYOND_THE_GRACE_MS);
    const answers: (RawResponse | undefined)[] = [];
    for (const [at, connection] of all.entries()) {
      if (at < 2) connection.send(request(at + 3).slice(sent(at)));
      answers.push(await connection.response());
    }
    expect(performance.now() - begin).toBeGreaterThan(6900);
    for (const answer of answers.slice(0, 2)) expect(answer).toMatchObject({ status: 200, headers: CLOSE });
    for (const answer of answers.slice(2)) {
      expect(answer).toMatchObject({ status: 400, headers: CLOSE });
      expect(answer?.body).toContain('"error":40800,"message":"The request did not arrive before the service stopped.');
    }
    for (const connection of all) connection.close();
    expect(await running.process.ended).toBe(0);
    expect(errors).toEqual([]);
  });

  it('should cut off what is left after SHUTDOWN_TIMEOUT, and end', async () => {
    await start({ SHUTDOWN_TIMEOUT: '1000', STORAGE_TIMEOUT: '60000' });
    await using lock = await TableLock.take(running.database);
    const waiting = await openWaiting(1, lock);
    using stopwatch = new Stopwatch();
    running.process.signal('SIGTERM');
    await waiting.closed();
    expect(await running.process.ended).toBe(1);
    expect(stopwatch.elapsed).toBeLessThan(5000);
    expect(running.process.output).toContain('1 connections were still open after 1000 ms');
  });

  it('should not wait longer than REQUEST_TIMEOUT for what clients do not send, and not for what they do not take', async () => {
    await start({ REQUEST_TIMEOUT: '500', STORAGE_TIMEOUT: '500' });
    const [headers, body, reader] = [await open(), await open(), await open()];
    reader.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(30));
    await once(reader.socket, 'data');
    reader.socket.pause();
    headers.send(request(1).slice(0, 40));
    body.send(request(1).slice(0, -5));
    expect(await running.process.post(plant(2))).toMatchObject(CREATED);
    running.process.signal('SIGTERM');
    expect(await running.process.ended).toBe(0);
  });

  it.each([{ DRAIN_DELAY: '0' }, { DRAIN_DELAY: '300' }])(
    `should answer every request of ${CLIENTS} clients, with %j`,
    async (variables) => {
      await start(variables);
      await using load = new Load(running.process.port, CLIENTS);
      await until(() => load.created.length >= 2000);
      running.process.signal('SIGTERM');
      expect(await running.process.ended).toBe(0);
      await load.stop();

      expect(load.failures.filter((outcome) => outcome !== 'connection refused')).toEqual([]);
      // Those that were waiting at the signal, or were sent since.
      expect(load.closings).toBeGreaterThanOrEqual(CLIENTS);
      expect(await load.compareWith(running.database)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
    },
  );
});
