import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { accepts, portOf } from '../support/http/free-port.js';
import { postHead, RawConnection } from '../support/http/request.js';
import { CLI, expectFailure, ManagedService, PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { Stopwatch, until } from '../support/until.js';

describe('plant-store', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('should not start on a port that is taken, or an address of another machine', async () => {
    const faults: [string, string, RegExp][] = [
      [
        'MANAGEMENT_PORT',
        new URL(database.url).port,
        /^MANAGEMENT_PORT must be a port .*address already in use 127\.0\.0\.1:\d+/m,
      ],
      // 192.0.2.0/24 is set aside for documentation (RFC 5737).
      ['HOST', '192.0.2.1', /^HOST must be an address .*address not available 192\.0\.2\.1/m],
    ];
    for (const [name, value, fault] of faults)
      await expectFailure('serve', { ...serviceVariables(database.url), [name]: value }, fault);
  });

  it('should end at the first signal as long as its database does not answer', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const variables = serviceVariables(`postgresql://nobody@127.0.0.1:${portOf(silent)}/plants`);
    const service = new PlantStoreProcess(['serve'], { variables });
    await once(silent, 'connection');
    service.signal('SIGTERM');
    expect([await service.ended, service.output]).toEqual([0, expect.not.stringContaining('cannot connect')]);
    silent.close();
  });

  it('should not start while another session locks a table that it checks, and say so', async () => {
    await using lock = await TableLock.take(database, '_prisma_migrations');
    const late = /: no answer came within 10 s, another session may hold a lock on a table of the store$/m;
    await expectFailure('serve', serviceVariables(database.url), late);
    await lock.release();
  });

  it('should start as dist/main.js in production without a token, and say once how to create one', async () => {
    const script = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const production = { NODE_ENV: 'production', ACCESS_TOKENS: '', HOST: '0.0.0.0' };
    const variables = { ...serviceVariables(database.url), ...production };
    await using service = await new PlantStoreProcess([], { script, variables }).listening();
    await service.printed(/No access token is valid now, .*plant-store token create NAME/);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.log.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(service.output).not.toMatch(/curl|psql/);
  });

  it('should end "token create" with 1 if nobody reads the token, after its id', async () => {
    // `pipefail` is the shell's way to the code of the command itself.
    const script = `set -o pipefail; '${process.execPath}' '${CLI}' token create unread | :`;
    const variables = { DATABASE_URL: database.url };
    const ran = await PlantStoreProcess.run(['-c', script], variables, { program: 'bash' });
    expect([await ran.ended, ran.stderr]).toEqual([1, expect.stringMatching(/^ID .*^\d+ +unread .* valid$.*EPIPE/ms)]);
  });
});

const LAST_ANSWER = { status: 200, headers: { connection: 'close' }, body: '{"name":"Rose"}' };
/** An idle connection has 2 s. */
const BEYOND_THE_GRACE_MS = 2500;

const plant = (id: number): string => `{"id":${id},"name":"Rose"}`;
const request = (id: number): string => postHead('', plant(id)) + plant(id);

describe('Shutdown', () => {
  let service: ManagedService;
  const connections: RawConnection[] = [];

  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    await service[Symbol.asyncDispose]();
  });

  /** With a create that is sent, if it is given an id. */
  async function open(id?: number): Promise<RawConnection> {
    const connection = await RawConnection.open(service.process.port);
    connections.push(connection);
    if (id !== undefined) connection.send(request(id));
    return connection;
  }
  /** A connection that has had an answer. */
  async function openUsed(id: number): Promise<RawConnection> {
    const connection = await open(id);
    expect(await connection.response()).toMatchObject({ status: 200 });
    return connection;
  }
  const refusing = (): Promise<void> => until(async () => !(await accepts(service.process.port)));
  async function expectLastAnswers(...all: RawConnection[]): Promise<void> {
    for (const connection of all) {
      expect(await connection.response()).toMatchObject(LAST_ANSWER);
      await connection.closed();
    }
  }
  /** Expects the end of the process, and of each connection: none is reset. */
  async function expectEnd(): Promise<void> {
    await Promise.all(connections.map((connection) => connection.closed()));
    expect(await service.process.ended).toBe(0);
    expect(connections.map(({ socket }) => socket.errored)).toEqual(connections.map(() => null));
  }

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'should, at %s, answer what is in flight, and begin nothing else',
    async (signal) => {
      service = await ManagedService.start({ STORAGE_TIMEOUT: '20000' });
      await using lock = await TableLock.take(service.database);
      const waiting = await open(1);
      await lock.awaited();
      // Pipelined: only the last answer ends the connection.
      waiting.send(request(2));
      service.process.signal(signal);
      // A Ctrl-C under npm comes twice.
      if (signal === 'SIGINT') service.process.signal('SIGTERM');
      await refusing();
      const readiness = await service.managed('/readyz');
      const stopping = { status: 'unavailable', reason: 'the service is shutting down' };
      expect([readiness.status, await readiness.json()]).toEqual([503, stopping]);
      expect((await service.managed('/livez')).status).toBe(200);

      await lock.release();
      expect(await waiting.response()).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
      await expectLastAnswers(waiting);
      await expectEnd();
      expect(await service.database.query('SELECT id FROM plants ORDER BY id')).toEqual([{ id: '1' }, { id: '2' }]);
      expect(service.process.log.filter(({ level }) => level !== 'info')).toEqual([]);
    },
  );

  it('should go on for DRAIN_DELAY while it is not ready', async () => {
    service = await ManagedService.start({ DRAIN_DELAY: '1000' });
    const begin = performance.now();
    service.process.signal('SIGTERM');
    await until(async () => (await service.managed('/readyz')).status === 503);
    await openUsed(1);
    await expectEnd();
    expect(performance.now() - begin).toBeGreaterThan(1000);
  });

  it('should accept and answer what waited in the backlog at the signal', async () => {
    service = await ManagedService.start();
    service.process.signal('SIGSTOP');
    const waiting = await Promise.all(Array.from({ length: 20 }, (_, id) => open(id)));
    service.process.signal('SIGTERM');
    service.process.signal('SIGCONT');
    for (const connection of waiting) expect(await connection.response()).toMatchObject({ status: 200 });
    await expectEnd();
  });

  it('should answer idle connections within their grace, and what has begun before its end', async () => {
    service = await ManagedService.start();
    const idle = [await open(), await openUsed(1)];
    // In the midst of the first header fields, and of a body. The last two send nothing more.
    const begun = [await open(), await openUsed(2), await open(), await openUsed(3)];
    const sent = (at: number): number => (at === 0 ? 60 : postHead('', plant(5)).length + 5);
    for (const [at, connection] of begun.slice(0, 2).entries()) connection.send(request(at + 4).slice(0, sent(at)));
    service.process.signal('SIGTERM');
    await refusing();
    for (const [at, connection] of idle.entries()) connection.send(request(at + 6));
    await expectLastAnswers(...idle);
    await sleep(BEYOND_THE_GRACE_MS);
    for (const [at, connection] of begun.slice(0, 2).entries()) connection.send(request(at + 4).slice(sent(at)));
    await expectLastAnswers(...begun.slice(0, 2));
    await expectEnd();
  });

  it('should cut off what is left after SHUTDOWN_TIMEOUT, and end', async () => {
    service = await ManagedService.start({ SHUTDOWN_TIMEOUT: '1000', STORAGE_TIMEOUT: '60000' });
    await using lock = await TableLock.take(service.database);
    const waiting = await open(1);
    await lock.awaited();
    using stopwatch = new Stopwatch();
    service.process.signal('SIGTERM');
    await waiting.closed();
    expect(await service.process.ended).toBe(1);
    expect(stopwatch.elapsed).toBeLessThan(5000);
    expect(service.process.output).toContain('1 connections were still open after 1000 ms');
  });
});
