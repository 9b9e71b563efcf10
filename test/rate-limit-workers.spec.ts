import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection, type RawResponse } from './support/raw-connection.js';
import { outcomes, sendInTurn, times, wrongTokens } from './support/requests-in-turn.js';
import { postHead, TOKEN } from './support/request.js';
import { TableLock } from './support/table-lock.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { until } from './support/until.js';
import { WorkersService } from './support/workers-service.js';

const OTHER_TOKEN = 'another-token-for-the-tests-0123456789';

const plant = (id: number): string => JSON.stringify({ id, name: 'Rose' });

async function create(connection: RawConnection, id: number): Promise<RawResponse> {
  connection.send(postHead('', plant(id)), plant(id));
  const response = await connection.response();
  if (!response) throw new Error('the server closed the connection without an answer');
  return response;
}

describe('RATE_LIMIT of several workers', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  /** Connections are dealt out to the workers in turn. */
  const connect = (service: WorkersService, count: number): Promise<RawConnection[]> =>
    Promise.all(Array.from({ length: count }, () => RawConnection.open(service.port)));

  it('should hold for all of them together, and for each token', async () => {
    const variables = { RATE_LIMIT: '20', ACCESS_TOKENS: `${TOKEN},${OTHER_TOKEN}` };
    await using service = await WorkersService.start(database.url, variables);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, client) =>
        sendInTurn(
          service.port,
          Array.from({ length: 5 }, (_, index) => ({ body: plant(client * 5 + index) })),
        ),
      ),
    );
    const all = answers.flat();
    expect(outcomes(all).sort((a, b) => a - b)).toEqual([...times(20, 200), ...times(30, 42900)]);
    expect(await database.query('SELECT count(*) FROM plants')).toEqual([{ count: '20' }]);
    const left = all.map(({ headers }) => Number(headers['ratelimit-remaining']));
    expect(left.filter((count) => count > 0).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 19 }, (_, n) => n + 1),
    );

    const other = { headers: { Authorization: `Bearer ${OTHER_TOKEN}` } };
    const [answer] = await sendInTurn(service.port, [other]);
    expect(answer?.headers).toMatchObject({ 'ratelimit-limit': '20', 'ratelimit-remaining': '19' });
  });

  it('should outlive the workers', async () => {
    await using service = await WorkersService.start(database.url, { RATE_LIMIT: '2' });
    await sendInTurn(service.port, [{ body: plant(1) }, { body: plant(2) }]);
    // In turn: when none is left, the free port goes with them.
    for (const [index, worker] of (await service.workers()).entries()) {
      process.kill(worker, 'SIGKILL');
      await until(() => service.logged(/ listens on /).length === index + 1);
    }
    expect(outcomes(await sendInTurn(service.port, [{ body: plant(3) }]))).toEqual([42900]);
  });

  it('should let requests pass while the primary process is stuck, and hold again afterwards', async () => {
    await using service = await WorkersService.start(database.url, { RATE_LIMIT: '1' });
    const connections = await connect(service, 2);
    const [first, second] = connections as [RawConnection, RawConnection];
    expect(outcomes([await create(first, 1), await create(second, 2)])).toEqual([200, 42900]);

    service.process.signal('SIGSTOP');
    const passed = await Promise.all([create(first, 3), create(second, 4)]);
    expect(outcomes(passed)).toEqual([200, 200]);
    expect(passed.map(({ headers }) => headers['ratelimit-limit'])).toEqual([undefined, undefined]);
    expect(outcomes([await create(first, 5), await create(second, 6)])).toEqual([200, 200]);

    service.process.signal('SIGCONT');
    let id = 7;
    await until(async () => outcomes([await create(first, id++)])[0] === 42900);
    await until(async () => outcomes([await create(second, id++)])[0] === 42900);
    expect(service.logged(/did not count requests within 1000 ms/)).toHaveLength(2);
    for (const connection of connections) connection.close();
  });

  it('should not keep workers from answering what is in flight when the primary process is killed', async () => {
    const variables = { RATE_LIMIT: '100', STORAGE_TIMEOUT: '20000' };
    await using service = await WorkersService.start(database.url, variables, { detached: true });
    await using lock = await TableLock.take(database);
    const connections = await connect(service, 6);
    const [first, second, ...others] = connections as [RawConnection, RawConnection, ...RawConnection[]];
    const inFlight = [create(first, 1), create(second, 2)];
    await lock.awaited(2);

    service.process.signal('SIGKILL');
    // To be counted by nobody.
    const late = others.map((connection, index) => create(connection, index + 3).catch(() => undefined));
    await until(() => service.logged('The primary process has ended').length === 2);
    await lock.release();

    expect(outcomes(await Promise.all(inFlight))).toEqual([200, 200]);
    const answered = (await Promise.all(late)).filter((answer) => answer !== undefined);
    expect(outcomes(answered)).toEqual(times(answered.length, 200));
    for (const connection of connections) connection.close();
  });

  it('should have each count wrong tokens by the address that a trusted proxy tells', async () => {
    const variables = { WRONG_TOKEN_LIMIT: '2', TRUST_PROXY: 'loopback, uniquelocal' };
    await using service = await WorkersService.start(database.url, variables);
    const from = (address: string) => wrongTokens(3, { 'X-Forwarded-For': `${address}, 10.0.0.1` });
    const answers = await sendInTurn(service.port, [...from('192.0.2.1'), ...from('192.0.2.2')]);
    expect(outcomes(answers)).toEqual([40101, 40101, 42900, 40101, 40101, 42900]);
  });
});
