import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { TableLock } from '../support/database/test-database.js';
import { accepts } from '../support/http/accepts.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { ManagedService } from '../support/service/process.js';
import { Stopwatch } from '../support/stopwatch.js';
import { until } from '../support/until.js';

const CLOSE = { connection: 'close' };
/** Less than the 2 s that an idle connection has. */
const WITHIN_THE_GRACE_MS = 500;

const plant = (id: number): string => `{"id":${id},"name":"Rose"}`;
const request = (id: number): string => postHead('', plant(id)) + plant(id);

describe('Connections at a shutdown', () => {
  let running: ManagedService;
  let errors: string[];

  afterEach(() => running[Symbol.asyncDispose]());

  async function start(variables: Record<string, string> = {}): Promise<void> {
    running = await ManagedService.start(variables);
  }

  beforeEach(() => {
    errors = [];
  });

  async function open(): Promise<RawConnection> {
    const connection = await RawConnection.open(running.process.port);
    connection.socket.on('error', (error: NodeJS.ErrnoException) => errors.push(String(error.code)));
    return connection;
  }

  /** A connection that has had an answer. */
  async function openUsed(id: number): Promise<RawConnection> {
    const connection = await open();
    connection.send(request(id));
    expect(await connection.response()).toMatchObject({ status: 200 });
    return connection;
  }

  const refusing = (): Promise<void> => until(async () => !(await accepts(running.process.port)));

  it('should go on for DRAIN_DELAY while it is not ready, and end each connection with its next answer', async () => {
    await start({ DRAIN_DELAY: '3000' });
    using idle = await openUsed(1);
    await using lock = await TableLock.take(running.database);
    using waiting = await open();
    waiting.send(request(2));
    await lock.awaited();

    const begin = performance.now();
    running.process.signal('SIGTERM');
    await until(async () => (await running.managed('/readyz')).status === 503);
    using late = await open();
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
    using used = await openUsed(1);
    using fresh = await open();
    using idle = await openUsed(2);
    using silent = await open();
    running.process.signal('SIGTERM');
    await refusing();
    await sleep(WITHIN_THE_GRACE_MS);
    used.send(request(3));
    fresh.send(request(4));

    expect(await used.response()).toMatchObject({ status: 200, headers: CLOSE });
    expect(await fresh.response()).toMatchObject({ status: 200, headers: CLOSE });
    await Promise.all([used.closed(), fresh.closed(), idle.closed(), silent.closed()]);
    expect(await running.process.ended).toBe(0);
    expect(errors).toEqual([]);
  });

  it('should let requests go on arriving until there would be no time to store them, and refuse the others', async () => {
    await start({ SHUTDOWN_TIMEOUT: '9000', STORAGE_TIMEOUT: '2000' });
    const connections = [await open(), await open(), await openUsed(1)];
    const unfinished = [await open(), await open(), await openUsed(2)];
    const sent = [60, postHead('', plant(3)).length + 5, 60];
    const send = (all: RawConnection[], part: (at: number) => [start?: number, end?: number | undefined]): void => {
      for (const [at, connection] of all.entries()) connection.send(request(at + 3).slice(...part(at)));
    };
    send([...connections, ...unfinished], (at) => [0, sent[at % 3]]);
    // The service has read them once it has answered a later one.
    expect(await running.process.post(plant(9))).toMatchObject({ status: 200 });
    const begin = performance.now();
    running.process.signal('SIGTERM');
    await refusing();
    // Beyond the grace of idle ones.
    await sleep(2500);
    send(connections, (at) => [sent[at] ?? 0]);

    const answers = (all: RawConnection[]): Promise<(RawResponse | undefined)[]> =>
      Promise.all(all.map((connection) => connection.response()));
    expect(await answers(connections)).toEqual(
      Array<unknown>(3).fill(
        expect.objectContaining({ status: 200, headers: expect.objectContaining(CLOSE) as object }),
      ),
    );
    const late = await answers(unfinished);
    expect(performance.now() - begin).toBeGreaterThan(6900);
    for (const answer of late) {
      expect(answer).toMatchObject({ status: 400, headers: CLOSE });
      expect(answer?.body).toContain('"error":40800,"message":"The request did not arrive before the service stopped.');
    }
    for (const connection of unfinished) connection.close();
    expect(await running.process.ended).toBe(0);
    expect(errors).toEqual([]);
  });

  it('should accept and answer what waited in the backlog at the signal', async () => {
    await start();
    running.process.signal('SIGSTOP');
    const waiting = await Promise.all(Array.from({ length: 50 }, open));
    for (const [at, connection] of waiting.entries()) connection.send(request(at + 1));
    running.process.signal('SIGTERM');
    running.process.signal('SIGCONT');

    for (const connection of waiting) expect(await connection.response()).toMatchObject({ status: 200 });
    expect(await running.process.ended).toBe(0);
    expect(errors).toEqual([]);
  });

  it('should cut off what is left after SHUTDOWN_TIMEOUT, and end', async () => {
    await start({ SHUTDOWN_TIMEOUT: '1000', STORAGE_TIMEOUT: '60000' });
    await using lock = await TableLock.take(running.database);
    using connection = await open();
    connection.send(request(1));
    await lock.awaited();
    using stopwatch = new Stopwatch();
    running.process.signal('SIGTERM');
    await connection.closed();

    const ended = await running.process.ended;
    expect(stopwatch.elapsed).toBeLessThan(5000);
    expect(ended).toBe(1);
    expect(running.process.output).toContain('1 connections were still open after 1000 ms');
  });

  it('should end at once without connections', async () => {
    await start({ SHUTDOWN_TIMEOUT: '60000' });
    using stopwatch = new Stopwatch();
    running.process.signal('SIGTERM');
    expect(await running.process.ended).toBe(0);
    // About 50 ms; a busy machine may take longer, but less than the grace of an idle connection.
    expect(stopwatch.elapsed).toBeLessThan(1900);
  });
});
