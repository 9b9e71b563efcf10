import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Load, type StoredPlant } from '../faults/load.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { freePort } from '../support/http/free-port.js';
import { describeWithHaproxy, Haproxy } from '../support/http/haproxy.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import { figure } from '../support/jest/figure.js';
import { Instance } from '../support/service/process.js';
import { Stopwatch } from '../support/stopwatch.js';
import { issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const RACES = 2_100;
const RACERS = 6;
/** Races at a time. */
const LANES = 10;
const CLIENTS = 64;
const SOME_PLANTS = 500;
const MEASURING_MS = 3_000;

describeWithHaproxy('Three instances behind HAProxy', () => {
  let database: TestDatabase;
  let instances: readonly Instance[];
  let proxy: Haproxy;
  let port: number;

  beforeAll(async () => {
    database = await createTestDatabase();
    instances = await Promise.all([1, 2, 3].map(() => Instance.start(database.url)));
    port = await freePort();
    proxy = await Haproxy.start(port, instances);
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await Promise.all(instances.map((instance) => instance[Symbol.asyncDispose]()));
    await database.drop();
  });

  /** Each creates as many more plants. */
  const allServe = async (): Promise<void> => {
    const before = await Promise.all(instances.map((instance) => instance.created()));
    await until(async () => {
      const now = await Promise.all(instances.map((instance) => instance.created()));
      return now.every((count, i) => count >= (before[i] ?? 0) + SOME_PLANTS);
    });
  };

  it(`should create one plant in each of ${RACES} races for an id`, async () => {
    const winners = new Map<number, string>();
    const before = await Promise.all(instances.map((instance) => instance.created()));
    let next = 1_000_000;
    const race = async (): Promise<void> => {
      const racers = await Promise.all(Array.from({ length: RACERS }, () => RawConnection.open(port)));
      while (next < 1_000_000 + RACES) {
        const id = next++;
        const answers = await Promise.all(
          racers.map(async (racer, i) => {
            const body = `{"id":${id},"name":"racer ${i}"}`;
            racer.send(postHead('', body) + body);
            return outcomeOf((await racer.response())?.body);
          }),
        );
        expect(answers.toSorted()).toEqual([...Array<string>(RACERS - 1).fill('40901'), 'racer'].toSorted());
        winners.set(id, `racer ${answers.indexOf('racer')}`);
      }
      for (const racer of racers) racer.close();
    };
    await Promise.all(Array.from({ length: LANES }, race));

    const rows = await database.query<{ id: string; name: string }>('SELECT id, name FROM plants WHERE id >= 1000000');
    expect(new Map(rows.map(({ id, name }) => [Number(id), name]))).toEqual(winners);
    const won = await Promise.all(instances.map(async (instance, i) => (await instance.created()) - (before[i] ?? 0)));
    expect(Math.min(...won)).toBeGreaterThan(0);
    figure(
      `${RACES} races of ${RACERS} for one id, three instances behind HAProxy`,
      `one 200 each (${won.join(', ')})`,
    );
  });

  it('should refuse a revoked token everywhere within 2 s', async () => {
    const { id, headers } = await issueToken(database);
    for (const instance of instances) expect(await errorOf(instance.port, headers)).toBe(40003);
    await database.query('UPDATE access_tokens SET revoked_at = clock_timestamp() WHERE id = $1', [id]);
    using stopwatch = new Stopwatch();
    const times = await Promise.all(
      instances.map(async (instance) => {
        await until(async () => (await errorOf(instance.port, headers)) === 40101);
        return Math.round(stopwatch.elapsed);
      }),
    );

    expect(Math.max(...times)).toBeLessThan(2_000);
    figure(
      'a revoked token is refused by all three',
      `${Math.max(...times)} ms, ${Math.max(...times) - Math.min(...times)} ms apart`,
    );
  });

  it('should lose nothing that was acknowledged when one is killed under load', async () => {
    await database.query('DELETE FROM plants');
    await using load = new Load(port, CLIENTS);
    await allServe();
    const created = load.createdCount;
    await instances[0]?.kill();
    await until(() => load.createdCount > created + 3 * SOME_PLANTS);
    await instances[0]?.start();
    await allServe();
    await load.stop();

    const rows = await database.query<StoredPlant>('SELECT id::text, name, tag, idempotency_key AS key FROM plants');
    const { outcomes, acknowledged, ...counts } = load.compareWith(rows);
    expect(counts).toMatchObject({ lost: 0, storedThoughRefused: 0, foreign: 0 });
    // Only what was in flight on it: no other request fails, and none that was not sent.
    const failed = Object.fromEntries([...outcomes].filter(([outcome]) => outcome !== '200' && outcome !== '40901'));
    const inFlight = (failed['no answer'] ?? 0) + (failed['50400'] ?? 0);
    expect(Object.keys(failed).filter((outcome) => outcome !== 'no answer' && outcome !== '50400')).toEqual([]);
    expect(inFlight).toBeLessThanOrEqual(CLIENTS);
    figure(
      `kill -9 of one of three under ${CLIENTS} clients`,
      `0 of ${acknowledged} lost; ${inFlight} in flight of unknown outcome`,
    );
  });

  it(`should fail no request of ${CLIENTS} clients while each is replaced in turn`, async () => {
    await database.query('DELETE FROM plants');
    await using clients = new CreatingClients(port, CLIENTS);
    await allServe();
    for (const instance of instances) {
      await instance.restart();
      await allServe();
    }
    await clients.stop();

    expect(clients.failures).toEqual([]);
    const rows = await database.query<{ id: string }>('SELECT id FROM plants');
    expect(rows.map(({ id }) => Number(id)).sort((x, y) => x - y)).toEqual(clients.created.sort((x, y) => x - y));
    figure(`rolling update of three under ${CLIENTS} clients`, `0 of ${clients.created.length} failed`);
  });

  it('should report how fast they are', async () => {
    const rates: number[] = [];
    const [first] = instances;
    rates.push(await creates(first?.port ?? 0, 10_000_000));
    for (const count of [1, 2, 3]) {
      const front = await freePort();
      await using partial = await Haproxy.start(front, instances.slice(0, count));
      await until(() => partial.output.includes('DOWN') || count > 1);
      rates.push(await creates(front, 10_000_000 * (count + 1)));
    }
    const [alone = 1, ...proxied] = rates;
    figure(
      'creates/s of one instance; of 1, 2, 3 behind HAProxy (two cores for all, clients too)',
      `${Math.round(alone)}; ${proxied.map((rate) => `${Math.round(rate)} (${(rate / alone).toFixed(2)})`).join(', ')}`,
    );
    expect(Math.min(...rates)).toBeGreaterThan(0);
  });
});

async function creates(port: number, firstId: number): Promise<number> {
  const clients = new CreatingClients(port, CLIENTS, firstId);
  await until(() => clients.created.length > SOME_PLANTS);
  const before = clients.created.length;
  const start = performance.now();
  await until(() => performance.now() > start + MEASURING_MS);
  const rate = ((clients.created.length - before) / (performance.now() - start)) * 1000;
  await clients.stop();
  expect(clients.refusals).toEqual([]);
  return rate;
}

/** The number that a request with no plant is answered with: 40003 if the credential is right. */
async function errorOf(port: number, headers: RequestHeaders): Promise<number> {
  using connection = await RawConnection.open(port);
  connection.send(postHead('', '{}', headers), '{}');
  return Number(outcomeOf((await connection.response())?.body));
}

/** The number of an error, or that a racer has created its plant. */
function outcomeOf(body = '{}'): string {
  return String((JSON.parse(body) as { error?: number }).error ?? 'racer');
}
