import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DriverAdapterError } from '@prisma/driver-adapter-utils';
import {
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
} from '../database/database.errors.js';
import type { Database } from '../database/database.js';
import { BatchWriter } from './batch-writer.js';
import { CreateFailures } from './create-failures.js';
import { Lanes } from './lanes.js';
import type { CreateResult } from './write-queue.js';
import { type PlantRecord, type PlantStatements, type StoredPlant, toRecord } from './plant-sql.js';
import { PlantsStatistics } from './plants-statistics.js';
import { ExistingPlantLookupError, WriteQueueFullError } from './plants.errors.js';
import type { PlantsModuleSettings } from './plants.options.js';

const TIMEOUT = 5000;
const LIMIT = 3;
/** More than the pause before a statement is sent again. */
const PAUSE = 200;

const plant = (id: number, idempotencyKey?: string): PlantRecord =>
  toRecord({ id: BigInt(id), name: 'Rose' }, idempotencyKey);

const storedPlant = (writeId: bigint | undefined, record: PlantRecord): StoredPlant => ({
  ...record,
  writeId: writeId ?? null,
});

/** A statement that was sent, to be answered by the test. */
interface Sent {
  ids: number[];
  writeId: bigint;
  answer(...stored: number[]): void;
  fail(error: unknown): void;
}

describe(BatchWriter.name, () => {
  let sent: Sent[];
  let inFlight: number;
  let maxInFlight: number;
  let statistics: PlantsStatistics;
  let writer: BatchWriter;
  let lanes: Lanes;
  let findExisting: (ids: readonly bigint[]) => Promise<Map<bigint, StoredPlant>>;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'performance'] });
    sent = [];
    inFlight = maxInFlight = 0;
    statistics = new PlantsStatistics();
    findExisting = () => Promise.reject(new Error('no look-up was to be made'));
    const statements = {
      insert: (plants: readonly PlantRecord[], writeId: bigint) =>
        new Promise<string[]>((resolve, reject) => {
          maxInFlight = Math.max(maxInFlight, (inFlight += 1));
          const answer = (...stored: number[]): void => {
            resolve(stored.map(String));
          };
          sent.push({ ids: plants.map(({ id }) => Number(id)), writeId, answer, fail: reject });
        }).finally(() => (inFlight -= 1)),
      findExisting: (plants: readonly PlantRecord[]) => findExisting(plants.map(({ id }) => id)),
    } as unknown as PlantStatements;
    const settings = { writeQueueLimit: LIMIT } as PlantsModuleSettings;
    lanes = new Lanes(statements);
    writer = new BatchWriter(
      { timeout: TIMEOUT, connections: 10 } as Database,
      statistics,
      settings,
      lanes,
      new CreateFailures({ query: () => Promise.resolve([]) } as unknown as Database, statistics),
    );
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Begins creates that arrive together, and returns when they had the chance to be sent. */
  async function create(...plants: PlantRecord[]): Promise<{ results: Promise<CreateResult>[] }> {
    const results = plants.map((each) => writer.create(each));
    for (const result of results) result.catch(() => undefined);
    await turn();
    return { results };
  }

  const turn = (): Promise<void> => jest.advanceTimersByTimeAsync(0);
  const rejected = (originalCode: string): Error =>
    new DriverAdapterError({ originalCode, severity: 'ERROR' } as never);
  const lost = new Error('Connection terminated unexpectedly');
  const stored = { stored: true };

  it('should send a lone create at once', async () => {
    const {
      results: [result],
    } = await create(plant(1));
    expect(sent).toMatchObject([{ ids: [1] }]);
    sent[0]?.answer(1);
    await expect(result).resolves.toEqual(stored);
  });

  it('should not wait for the end of the turn once many creates have arrived alone', async () => {
    const sentAtOnce = async (id: number): Promise<boolean> => {
      const before = sent.length;
      void writer.create(plant(id));
      await new Promise((resolve) => {
        process.nextTick(resolve);
      });
      const isSent = sent.length > before;
      await turn();
      sent.at(-1)?.answer(id);
      await turn();
      return isSent;
    };
    expect(await sentAtOnce(0)).toBe(false);
    for (let id = 1; id < 100; id++) await sentAtOnce(id);
    expect(await sentAtOnce(100)).toBe(true);

    await create(plant(101), plant(102));
    sent.at(-1)?.answer(101, 102);
    await turn();
    expect(await sentAtOnce(103)).toBe(false);
  });

  it('should send together what arrives together, and tell each only after the answer', async () => {
    const { results } = await create(plant(1), plant(2), plant(3));
    expect(sent).toMatchObject([{ ids: [1, 2, 3] }]);
    const settled = jest.fn();
    for (const result of results) void result.then(settled);
    await turn();
    expect(settled).not.toHaveBeenCalled();
    expect(statistics).toMatchObject({ created: 0, waiting: 0, inFlight: 3 });

    sent[0]?.answer(1, 2, 3);
    await expect(Promise.all(results)).resolves.toEqual([stored, stored, stored]);
    expect(statistics).toMatchObject({ created: 3, waiting: 0, inFlight: 0 });
  });

  it('should gather what comes while two statements are in flight, and send it after one of them', async () => {
    for (const id of [1, 2, 3, 4]) await create(plant(id));
    expect(sent.map(({ ids }) => ids)).toEqual([[1], [2]]);
    expect(statistics).toMatchObject({ waiting: 2, inFlight: 2 });
    sent[0]?.answer(1);
    await turn();
    expect(sent[2]).toMatchObject({ ids: [3, 4] });
  });

  it('should gather no more once a statement takes long, and send no more than some at a time', async () => {
    for (let id = 1; id <= 10; id++) {
      await create(plant(id));
      await jest.advanceTimersByTimeAsync(200);
    }
    expect(sent.map(({ ids }) => ids)).toEqual([[1], [2], [3], [4], [5], [6], [7], [8]]);
    sent[3]?.answer(4);
    await turn();
    expect(sent[8]).toMatchObject({ ids: [9, 10] });
  });

  it('should give an id to the first of several', async () => {
    const { results } = await create(plant(1), plant(1), plant(1));
    sent[0]?.answer(1);
    await expect(Promise.all(results)).resolves.toEqual([stored, { stored: false }, { stored: false }]);
  });

  it('should look up together the existing plants for creates with a key, without a wait for other creates', async () => {
    let found: (plants: Map<bigint, StoredPlant>) => void = () => undefined;
    const lookedUp = jest.fn();
    findExisting = (ids) => {
      lookedUp(ids);
      return new Promise((resolve) => (found = resolve));
    };
    const {
      results: [first, second, keyless, fresh],
    } = await create(plant(1, 'a'), plant(2, 'b'), plant(3), plant(4));
    sent[0]?.answer(4);
    await expect(keyless).resolves.toEqual({ stored: false });
    await expect(fresh).resolves.toEqual(stored);
    expect(lookedUp.mock.calls).toEqual([[[1n, 2n]]]);
    await create(plant(5));
    expect(sent[1]).toMatchObject({ ids: [5] });

    const existingPlant = storedPlant(1n, plant(1, 'a'));
    found(new Map([[1n, existingPlant]]));
    await expect(first).resolves.toEqual({ stored: false, existingPlant });
    await expect(second).rejects.toThrow(ExistingPlantLookupError);
  });

  it('should look up again what could not be looked up, as long as there is time', async () => {
    findExisting = () => Promise.reject(new Error('lost'));
    const {
      results: [first],
    } = await create(plant(1, 'a'));
    sent[0]?.answer();
    await turn();
    const existing = storedPlant(1n, plant(1, 'a'));
    findExisting = () => Promise.resolve(new Map([[1n, existing]]));
    await jest.advanceTimersByTimeAsync(PAUSE);
    await expect(first).resolves.toEqual({ stored: false, existingPlant: existing });

    findExisting = () => Promise.reject(new Error('lost'));
    const {
      results: [late],
    } = await create(plant(2, 'b'));
    sent[1]?.answer();
    await jest.advanceTimersByTimeAsync(2 * TIMEOUT);
    await expect(late).rejects.toMatchObject({ name: 'ExistingPlantLookupError', cause: new Error('lost') });
  });

  it('should tell those who know that nothing was written of a look-up that is refused or takes too long', async () => {
    findExisting = (ids) => (ids[0] === 1n ? Promise.reject(rejected('42501')) : new Promise(() => undefined));
    const {
      results: [failing],
    } = await create(plant(1, 'a'));
    sent[0]?.answer();
    await expect(failing).rejects.toMatchObject({ name: 'ExistingPlantLookupError', cause: rejected('42501') });
    const {
      results: [late],
    } = await create(plant(2, 'b'));
    sent[1]?.answer();
    await jest.advanceTimersByTimeAsync(2 * TIMEOUT);
    await expect(late).rejects.toThrow(ExistingPlantLookupError);
  });

  it('should try each alone if one of a few was rejected', async () => {
    const { results } = await create(plant(1), plant(2), plant(3));
    sent[0]?.fail(rejected('23514'));
    await turn();
    sent[1]?.answer(1);
    sent[2]?.fail(rejected('23514'));
    await turn();
    sent[3]?.answer();
    expect(sent.slice(1).map(({ ids }) => ids)).toEqual([[1], [2], [3]]);
    await expect(results[0]).resolves.toEqual(stored);
    await expect(results[1]).rejects.toEqual(rejected('23514'));
    await expect(results[2]).resolves.toEqual({ stored: false });
    expect(maxInFlight).toBe(2);
  });

  it('should try parts if one of many was rejected, within the places of all statements and the turns of all creates', async () => {
    const ids = Array.from({ length: 500 }, (_, id) => id);
    const answerAll = async (from: number): Promise<void> => {
      for (let at = from; at < sent.length; at++) {
        if (sent[at]?.ids.includes(7)) sent[at]?.fail(rejected('23514'));
        else sent[at]?.answer(...(sent[at]?.ids ?? []));
        await turn();
      }
    };
    const { results } = await create(...ids.map((id) => plant(id)));
    sent[0]?.fail(rejected('23514'));
    await turn();
    await create(plant(1000));
    await answerAll(1);
    for (const [id, result] of results.entries()) {
      if (id === 7) await expect(result).rejects.toEqual(rejected('23514'));
      else await expect(result).resolves.toEqual(stored);
    }
    const [whole, ...parts] = sent.map((statement) => statement.ids.length);
    expect([whole, ...parts]).toEqual([500, ...Array<number>(25).fill(20), ...Array<number>(21).fill(1)]);
    expect(sent[26]).toMatchObject({ ids: [1000] });
    expect(maxInFlight).toBe(2);
    expect(statistics).toMatchObject({ waiting: 0, inFlight: 0, created: 500 });
  });

  it('should leave places to new creates if each plant of a rejected statement hangs, and go on afterwards', async () => {
    const { results } = await create(...Array.from({ length: 20 }, (_, id) => plant(id)));
    sent[0]?.fail(rejected('55P03'));
    for (let i = 0; i < 20; i++) await jest.advanceTimersByTimeAsync(110);
    expect(sent.slice(1).map(({ ids }) => ids)).toEqual([[0], [1], [2], [3]]);
    const {
      results: [other],
    } = await create(plant(100));
    expect(sent[5]?.ids).toEqual([100]);
    for (let at = 1; at < sent.length; at++) {
      sent[at]?.answer(...(sent[at]?.ids ?? []));
      await turn();
    }
    await expect(Promise.all([...results, other])).resolves.toEqual(Array(21).fill(stored));
    expect(maxInFlight).toBe(5);
  });

  it('should try each alone at once if a lock was waited for, and give up those that wait for too long', async () => {
    const { results } = await create(...Array.from({ length: 30 }, (_, id) => plant(id)));
    await jest.advanceTimersByTimeAsync(TIMEOUT - 50);
    sent[0]?.fail(rejected('55P03'));
    await turn();
    expect(sent.slice(1).map(({ ids }) => ids)).toEqual([[0], [1]]);
    await jest.advanceTimersByTimeAsync(TIMEOUT);
    for (const [id, result] of results.entries())
      await expect(result).rejects.toThrow(id < 2 ? DatabaseTimeoutError : ConnectionPoolExhaustedError);
    for (const statement of sent.slice(1)) statement.answer();
    const { length } = sent;
    await turn();
    expect(sent).toHaveLength(length);
    expect(statistics.waiting).toBe(0);
  });

  it('should send nothing again for creates whose time is up', async () => {
    const { results } = await create(plant(1), plant(2));
    await jest.advanceTimersByTimeAsync(TIMEOUT);
    sent[0]?.fail(rejected('23514'));
    for (const result of results) await expect(result).rejects.toThrow(ConnectionPoolExhaustedError);
    await turn();
    expect(sent).toHaveLength(1);
  });

  it('should not repeat what was not sent', async () => {
    const away = new DatabaseUnreachableError();
    const { results } = await create(plant(1), plant(2));
    sent[0]?.fail(away);
    for (const result of results) await expect(result).rejects.toBe(away);
    await jest.advanceTimersByTimeAsync(PAUSE);
    expect(sent).toHaveLength(1);
  });

  it('should send again what may have been carried out, and recognise its own plants', async () => {
    const [own, other, keyed, fresh] = [plant(1), plant(2), plant(3, 'key'), plant(4)];
    const { results } = await create(own, other, keyed, fresh);
    sent[0]?.fail(lost);
    await jest.advanceTimersByTimeAsync(PAUSE);
    sent[1]?.fail(new DatabaseUnreachableError());
    await jest.advanceTimersByTimeAsync(PAUSE);
    // The first statement has stored it.
    const existing = [storedPlant(sent[0]?.writeId, own), storedPlant(1n, other), storedPlant(undefined, keyed)];
    findExisting = () => Promise.resolve(new Map(existing.map((found) => [found.id, found])));
    expect(sent.map(({ ids }) => ids)).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
    sent[2]?.answer(4);
    await expect(results[0]).resolves.toEqual(stored);
    await expect(results[1]).resolves.toEqual({ stored: false, existingPlant: existing[1] });
    await expect(results[2]).resolves.toEqual({ stored: false, existingPlant: existing[2] });
    await expect(results[3]).resolves.toEqual(stored);
    expect(statistics).toMatchObject({ created: 2, inFlight: 0 });
  });

  it('should know which of several creates of one id has stored it', async () => {
    const { results } = await create(plant(2), plant(1), plant(1));
    const existingPlant = storedPlant((sent[0]?.writeId ?? 0n) + 1n, plant(1));
    findExisting = () => Promise.resolve(new Map([[1n, existingPlant]]));
    sent[0]?.fail(lost);
    await jest.advanceTimersByTimeAsync(PAUSE);
    sent[1]?.answer(2);
    await expect(Promise.all(results)).resolves.toEqual([stored, stored, { stored: false, existingPlant }]);
  });

  it('should send nothing again when the time is up, or for a cause that will not pass', async () => {
    const { results } = await create(plant(1), plant(2));
    sent[0]?.fail(lost);
    await jest.advanceTimersByTimeAsync(PAUSE);
    sent[1]?.fail(rejected('42501'));
    for (const result of results)
      await expect(result).rejects.toMatchObject({ name: 'DatabaseTimeoutError', cause: lost });
    const {
      results: [late],
    } = await create(plant(3));
    await jest.advanceTimersByTimeAsync(TIMEOUT);
    sent[2]?.fail(lost);
    await jest.advanceTimersByTimeAsync(PAUSE);
    await expect(late).rejects.toMatchObject({ name: 'DatabaseTimeoutError', cause: lost });
    expect(sent).toHaveLength(3);
  });

  it('should never tell that nothing was written if an earlier statement may have stored the plant', async () => {
    findExisting = () => Promise.resolve(new Map<bigint, StoredPlant>());
    const { results } = await create(plant(1), plant(2), plant(3));
    sent[0]?.fail(rejected('57014'));
    await turn();
    sent[1]?.answer();
    sent[2]?.fail(rejected('53100'));
    await turn();
    sent[3]?.answer(3);
    await expect(results[0]).rejects.toMatchObject({ name: 'DatabaseTimeoutError', cause: rejected('57014') });
    await expect(results[2]).resolves.toEqual(stored);
    await jest.advanceTimersByTimeAsync(PAUSE);
    sent[4]?.fail(new ConnectionPoolExhaustedError());
    await jest.advanceTimersByTimeAsync(2 * TIMEOUT);
    await expect(results[1]).rejects.toMatchObject({ name: 'DatabaseTimeoutError', cause: rejected('57014') });
  });

  it('should refuse more than may wait, and lose none of those that wait', async () => {
    await create(plant(1));
    await create(plant(2));
    const { results: waiting } = await create(plant(3), plant(4), plant(5));
    expect(() => writer.create(plant(6))).toThrow(WriteQueueFullError);
    sent[0]?.answer(1);
    await turn();
    sent[2]?.answer(3, 4, 5);
    await expect(Promise.all(waiting)).resolves.toEqual([stored, stored, stored]);
    await create(plant(7));
    expect(sent[3]).toMatchObject({ ids: [7] });
  });

  it('should refuse what two statements could not take either, though none is in flight yet', async () => {
    const fits = 2 * 500 + LIMIT;
    const { results } = await create(...Array.from({ length: fits }, (_, id) => plant(id)));
    expect(sent.map(({ ids }) => ids.length)).toEqual([500, 500]);
    expect(results).toHaveLength(fits);
    expect(statistics.waiting).toBe(LIMIT);
    expect(() => writer.create(plant(-1))).toThrow(WriteQueueFullError);
  });

  it('should refuse what takes too much memory, however few wait', async () => {
    const long = (id: number): PlantRecord => ({ ...plant(id), name: 'x'.repeat(2 ** 25) });
    await create(plant(1));
    await create(plant(2));
    await create(long(3), long(4));
    expect(() => writer.create(plant(5))).toThrow(WriteQueueFullError);
    sent[0]?.answer(1);
    await turn();
    // It is too long to share a statement.
    expect(sent[2]).toMatchObject({ ids: [3] });
  });

  it('should refuse nothing that can be sent at once', async () => {
    await create(...[1, 2, 3, 4, 5].map((id) => plant(id)));
    expect(sent).toMatchObject([{ ids: [1, 2, 3, 4, 5] }]);
  });

  it('should give up what waits too long for a statement, and not send it any more', async () => {
    // All that go at a time.
    for (let id = 1; id <= 8; id++) {
      await create(plant(id));
      await jest.advanceTimersByTimeAsync(100);
    }
    const {
      results: [late],
    } = await create(plant(9));
    await jest.advanceTimersByTimeAsync(TIMEOUT);
    await expect(late).rejects.toThrow(ConnectionPoolExhaustedError);
    expect(statistics.waiting).toBe(0);
    for (const statement of sent) statement.answer();
    await turn();
    expect(sent).toHaveLength(8);
  });

  it('should give up what is not answered in time, and not try it again', async () => {
    const { results } = await create(plant(1), plant(2));
    await jest.advanceTimersByTimeAsync(2 * TIMEOUT);
    for (const result of results) await expect(result).rejects.toThrow(DatabaseTimeoutError);
    sent[0]?.fail(rejected('57014'));
    await turn();
    expect(sent).toHaveLength(1);
  });
});
