import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DriverAdapterError } from '@prisma/driver-adapter-utils';
import { DatabaseUnreachableError } from '../database/database.errors.js';
import type { Database } from '../database/database.js';
import { Lanes } from '../plants/lanes.js';
import { PlantStatements } from '../plants/plant-sql.js';
import { ShardLane, ShardNode, ShardStatements } from './shard-lane.js';
import { hashInt8, type ShardPlacement, Shards } from './shards.js';

/** As PostgreSQL computes it. */
const HASHES: readonly [bigint, number][] = [
  [1n, -1905060026],
  [-1n, 385747274],
  [2n ** 63n - 1n, -1524351049],
  [-(2n ** 63n), -96758253],
  [2n ** 32n, -1905060026],
];
const MAP = [
  { minHash: -(2 ** 31), node: 'a:1' },
  { minHash: 0, node: 'b:2' },
];
/** Of a server that cannot reach another. */
const lost = new DriverAdapterError({ kind: 'postgres', originalCode: '08006', severity: 'ERROR' } as never);

describe(hashInt8.name, () => {
  it.each(HASHES)('should hash %d as PostgreSQL does', (id, hash) => {
    expect(hashInt8(id)).toBe(hash);
  });
});

describe(Shards.name, () => {
  let shards: Shards;
  let lanes: Lanes;
  let findShards: jest.Mock<() => Promise<ShardPlacement[]>>;
  let probe: jest.SpiedFunction<ShardStatements['probe']>;
  let isBusy: boolean;
  let hashes: (ids: string[]) => { id: string; hash: string }[];
  const lines: unknown[] = [];

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    lines.length = 0;
    const logger = {
      log: (line: unknown) => lines.push(line),
      warn: (line: unknown) => lines.push(line),
      error: jest.fn(),
    };
    Logger.overrideLogger(logger);
    findShards = jest.fn<() => Promise<ShardPlacement[]>>().mockResolvedValue(MAP);
    probe = jest.spyOn(ShardStatements.prototype, 'probe').mockResolvedValue();
    isBusy = false;
    hashes = (ids) => ids.map((id) => ({ id, hash: String(hashInt8(BigInt(id))) }));
    const query = (_: string, [ids]: [string[]]) => Promise.resolve(hashes(ids));
    const database = { query, schema: 'public', isBusy: () => isBusy } as unknown as Database;
    const statements = {} as PlantStatements;
    lanes = new Lanes(statements);
    shards = new Shards(lanes, database, statements, findShards);
  });
  afterEach(() => {
    lanes.onApplicationShutdown();
    Logger.overrideLogger(true);
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const id = 1n;
  const nodeOf = (of: bigint): ShardNode => (lanes.find(of) as Partial<ShardLane>).node ?? new ShardNode('none');

  it('should be the whole table if that is not distributed', async () => {
    findShards.mockResolvedValue([]);
    await shards.start();
    expect(lanes.find(id)).not.toBeInstanceOf(ShardLane);
    expect(lanes.find(-id)).toBe(lanes.find(id));
    expect(lanes.probe()).toBeUndefined();
    expect(shards.nodes).toEqual([]);
    expect(lines).toEqual([]);
    // With the extension it may be soon.
    await jest.advanceTimersByTimeAsync(60_000);
    expect(findShards).toHaveBeenCalledTimes(2);
  });

  it('should be the whole table, and be read again, if it cannot be read at the start', async () => {
    findShards.mockRejectedValueOnce(new Error('too many clients'));
    await shards.start();
    expect(lanes.find(id)).not.toBeInstanceOf(ShardLane);
    expect(lines).toEqual([expect.stringContaining('were not read: too many clients')]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(nodeOf(id).name).toBe('a:1');
    lanes.onApplicationShutdown();
    expect(jest.getTimerCount()).toBe(0);
    expect(lanes.find(id)).not.toBeInstanceOf(ShardLane);
  });

  it('should find the shard whose hashes begin at or below that of the id', async () => {
    await shards.start();
    for (const [each, hash] of HASHES) expect(nodeOf(each).name).toBe(hash < 0 ? 'a:1' : 'b:2');
    await Promise.all(shards.nodes.map((node) => shards.check(node)));
    expect(probe.mock.calls.map(([probed]) => nodeOf(probed))).toEqual(shards.nodes);
    expect(lines).toEqual(['The table plants has 2 shards, on a:1, b:2']);
  });

  it('should follow a map that changes, and keep it if it cannot be read', async () => {
    await shards.start();
    const before = nodeOf(id);
    findShards.mockRejectedValue(new Error('gone'));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(nodeOf(id)).toBe(before);
    findShards.mockResolvedValue(MAP.map(({ minHash }) => ({ minHash, node: 'a:1' })));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(shards.nodes).toEqual([before]);
    expect(nodeOf(-1n)).toBe(before);
  });

  it('should be the whole table if the database hashes in another way', async () => {
    hashes = (ids) => ids.map((each) => ({ id: each, hash: '1' }));
    await shards.start();
    expect(lanes.find(id)).not.toBeInstanceOf(ShardLane);
    expect(lines).toEqual([expect.stringContaining('unknown way')]);
    await jest.advanceTimersByTimeAsync(120_000);
    expect(lines).toHaveLength(1);
  });

  it('should count a node as away until a probe succeeds', async () => {
    await shards.start();
    const node = nodeOf(id);
    probe.mockRejectedValue(lost);
    shards.markAway(node, lost);
    expect(node.isAway).toBe(true);
    expect(await shards.check(node)).toBe(lost);
    await jest.advanceTimersByTimeAsync(2000);
    expect(node.isAway).toBe(true);
    // It may have been replaced.
    expect(findShards).toHaveBeenCalledTimes(2);
    probe.mockResolvedValue();
    await jest.advanceTimersByTimeAsync(500);
    expect(node.isAway).toBe(false);
    expect(await shards.check(node)).toBeUndefined();
    expect(nodeOf(-1n).isAway).toBe(false);
    expect(lines.slice(1)).toEqual([
      'Shards of a:1 do not answer: creates for them are refused until they do',
      'Shards of a:1 answer again',
    ]);
  });

  it.each([false, true])(
    'should count a node that answers no probe as away, with one probe at a time (busy: %s)',
    async (busy) => {
      await shards.start();
      const node = nodeOf(id);
      isBusy = busy;
      probe.mockReturnValue(new Promise(() => undefined));
      const checks = [shards.check(node), shards.check(node)];
      await jest.advanceTimersByTimeAsync(1000);
      expect(await Promise.all(checks)).toEqual([expect.any(Error), expect.any(Error)]);
      // It then waited for a connection of ours.
      expect(node.isAway).toBe(!busy);
      await jest.advanceTimersByTimeAsync(2000);
      expect(probe).toHaveBeenCalledTimes(1);
    },
  );

  it('should not hold against a node what is not its fault', async () => {
    await shards.start();
    const node = nodeOf(id);
    for (const error of [new DatabaseUnreachableError('no connection'), new Error('terminated')]) {
      probe.mockRejectedValue(error);
      expect(await shards.check(node)).toBe(error);
      expect(node.isAway).toBe(false);
    }
  });

  it('should say which nodes fail while others work, and the failure if none does', async () => {
    await shards.start();
    expect(await lanes.probe()).toEqual({ degradation: undefined, failure: undefined });
    const [first, second] = shards.nodes;
    if (first && second) shards.markAway(second, lost);
    expect(await lanes.probe()).toEqual({ degradation: 'shards of b:2 do not answer', failure: undefined });
    if (first) shards.markAway(first, lost);
    expect(await lanes.probe()).toMatchObject({ failure: lost });
  });
});
