import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DriverAdapterError } from '@prisma/driver-adapter-utils';
import { DatabaseUnreachableError } from '../database/database.errors.js';
import type { Database } from '../database/database.js';
import { BatchWriter } from '../plants/batch-writer.js';
import type { CreateFailures } from '../plants/create-failures.js';
import { Lanes } from '../plants/lanes.js';
import type { CreateResult } from '../plants/write-queue.js';
import { type PlantRecord, type PlantStatements, toRecord } from '../plants/plant-sql.js';
import { PlantsStatistics } from '../plants/plants-statistics.js';
import type { PlantsModuleSettings } from '../plants/plants.options.js';
import { type NodeMonitor, ShardLane, ShardNode, type ShardStatements } from './shard-lane.js';

const PAUSE = 200;

interface Sent {
  ids: number[];
  answer(...stored: number[]): void;
  fail(error: unknown): void;
}

describe(ShardLane.name, () => {
  let sent: Sent[];
  let statistics: PlantsStatistics;
  let writer: BatchWriter;
  let away: ShardNode;
  let check: jest.Mock<NodeMonitor['check']>;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'performance'] });
    sent = [];
    statistics = new PlantsStatistics();
    const statements = {
      insert: (plants: readonly PlantRecord[]) =>
        new Promise<string[]>((resolve, reject) => {
          const answer = (...stored: number[]): void => {
            resolve(stored.map(String));
          };
          sent.push({ ids: plants.map(({ id }) => Number(id)), answer, fail: reject });
        }),
    } as unknown as ShardStatements;
    const lanes = new Lanes({} as PlantStatements);
    const nodes = [new ShardNode('a:1'), new ShardNode('b:2')];
    away = nodes[1] ?? new ShardNode('b:2');
    check = jest.fn<NodeMonitor['check']>().mockResolvedValue(undefined);
    const markAway = (node: ShardNode, error: unknown): void => {
      node.failure = error;
      lanes.onChange();
    };
    const monitor: NodeMonitor = { check, markAway };
    const parts = [0, 1, 2, 3].map((hash) => new ShardLane(hash, nodes[hash % 2] ?? away, statements, monitor));
    const [first] = parts;
    if (first) lanes.find = (id) => parts[Number(id) % 4] ?? first;
    writer = new BatchWriter(
      { timeout: 5000, connections: 10 } as Database,
      statistics,
      { writeQueueLimit: 3 } as PlantsModuleSettings,
      lanes,
      { triggers: [] as string[] } as unknown as CreateFailures,
    );
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Begins creates that arrive together, and returns when they had the chance to be sent. */
  async function create(...ids: number[]): Promise<{ results: Promise<CreateResult>[] }> {
    const results = ids.map((id) => writer.create(toRecord({ id: BigInt(id), name: 'Rose' })));
    for (const result of results) result.catch(() => undefined);
    await turn();
    return { results };
  }

  const turn = (): Promise<void> => jest.advanceTimersByTimeAsync(0);
  const rejected = (originalCode: string): Error =>
    new DriverAdapterError({ originalCode, severity: 'ERROR' } as never);
  const stored = { stored: true };

  it('should take one statement at a time, and leave the other node half of the connections', async () => {
    await create(0, 4);
    await create(1);
    expect(sent.map(({ ids }) => ids)).toEqual([[0, 4], [1]]);
    for (let id = 8; id <= 28; id += 4) {
      await create(id);
      await jest.advanceTimersByTimeAsync(200);
    }
    // Of nine connections; those of the other node are free.
    expect(sent.filter(({ ids }) => Number(ids[0]) % 2 === 0)).toHaveLength(5);
    await create(5);
    expect(sent.at(-1)).toMatchObject({ ids: [5] });
  });

  it('should take again what was rejected, one by one', async () => {
    const { results } = await create(0, 4, 8);
    sent[0]?.fail(rejected('23514'));
    await turn();
    await create(1);
    expect(sent.slice(1).map(({ ids }) => ids)).toEqual([[0], [1]]);
    for (const [at, id] of [0, 1, 4, 8].entries()) {
      sent[at + 1]?.answer(id);
      await turn();
    }
    await expect(Promise.all(results)).resolves.toEqual([stored, stored, stored]);
  });

  it('should refuse what waits for a node that is away, and send it nothing again until it is back', async () => {
    const results = [];
    for (const id of [1, 5]) results.push(...(await create(id)).results);
    expect(sent.map(({ ids }) => ids)).toEqual([[1]]);
    sent[0]?.fail(rejected('08006'));
    await turn();
    await expect(results[1]).rejects.toThrow('shards of b:2 do not answer');
    expect(() => writer.create(toRecord({ id: 13n, name: 'Rose' }))).toThrow(DatabaseUnreachableError);
    await create(2);
    expect(sent.at(-1)).toMatchObject({ ids: [2] });
    await jest.advanceTimersByTimeAsync(PAUSE * 3);
    expect(sent).toHaveLength(2);
    away.failure = undefined;
    await jest.advanceTimersByTimeAsync(PAUSE);
    expect(sent[2]).toMatchObject({ ids: [1] });
    sent[2]?.answer(1);
    await expect(results[0]).resolves.toEqual(stored);
    expect(statistics.waiting).toBe(0);
  });

  it('should have its node checked when a statement takes long', async () => {
    await create(1);
    await jest.advanceTimersByTimeAsync(999);
    expect(check).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(check.mock.calls).toEqual([[away]]);
  });
});
