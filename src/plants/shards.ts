import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Citus } from '../database/citus.js';
import { afterRelease, DatabaseTimeoutError } from '../database/database.errors.js';
import { Database } from '../database/database.js';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { INT64_MAX, INT64_MIN } from './int64.js';
import { PlantStatements } from './plant-sql.js';
import { isNodeFailure } from './storage-failure.js';

/** From one reading of the shards to the next. */
const REFRESH_EVERY_MS = 60_000;
/** From one probe of a node that is away to the next. */
const PROBE_EVERY_MS = 500;
/** A node that answers no probe for so long is away. */
const PROBE_TIMEOUT_MS = 1000;
/** Ids that are tried until one belongs to the node that is to be probed. */
const MAX_PROBE_IDS = 100_000n;
/** By which the own hash is compared with the database's. */
const SAMPLE_IDS = [0n, 1n, -1n, 2n ** 32n, -(2n ** 32n), INT64_MAX, INT64_MIN];
const MIN_HASH = -(2 ** 31);

/** A server that holds shards. */
export class ShardNode {
  /** Why it takes no creates; undefined while it is not known to fail. */
  failure: unknown;
  /** Statements that create plants in its shards now. */
  inFlight = 0;
  probe: Promise<void> | undefined;

  /** @param name its host and port */
  constructor(readonly name: string) {}

  get isAway(): boolean {
    return this.failure !== undefined;
  }
}

/** A part of the table, on one node; without a node all of it, where it is not distributed. */
export class Shard {
  /** Statements in flight that are not slow. */
  fast = 0;

  constructor(
    readonly minHash = MIN_HASH,
    readonly node?: ShardNode,
  ) {}
}

/**
 * Which shard a plant belongs to, and which nodes answer. The map may be out of date: a statement may then concern two shards, which costs
 * time and changes no result.
 */
@Injectable()
export class Shards implements OnApplicationShutdown {
  /** In the order of their hashes. */
  private shards: readonly [Shard, ...Shard[]] = [new Shard()];
  private readonly logger = new Logger(Shards.name);
  private known = '[]';
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly statements: PlantStatements,
  ) {}

  /** Reads the map, and from time to time again. */
  async start(): Promise<void> {
    this.timer = setInterval(() => void this.refresh(), REFRESH_EVERY_MS).unref();
    await this.refresh();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    // No node is waited for any more.
    this.shards = [new Shard()];
  }

  /** None where the table is not distributed. */
  get nodes(): ShardNode[] {
    return [...new Set(this.shards.flatMap(({ node }) => node ?? []))];
  }

  find(id: bigint): Shard {
    // Most stores have one part, which has all hashes.
    const hash = this.shards.length > 1 ? hashInt8(id) : Infinity;
    return this.shards.findLast(({ minHash }) => minHash <= hash) ?? this.shards[0];
  }

  /** Resolves with the reason why a node takes no creates, within about a second; with undefined where it does. */
  async check(node: ShardNode): Promise<unknown> {
    if (node.isAway) return node.failure;
    const timeUp = new DatabaseTimeoutError(`shards of ${node.name} did not answer within ${PROBE_TIMEOUT_MS} ms`);
    try {
      await withinTime(this.probe(node), PROBE_TIMEOUT_MS, () => timeUp);
      return undefined;
    } catch (error) {
      // Where all connections are in use, the probe was perhaps not sent.
      if (error === timeUp ? !this.database.isBusy() : isNodeFailure(error)) this.markAway(node, error);
      return error;
    }
  }

  private async refresh(): Promise<void> {
    try {
      const { query, schema } = this.database;
      const shards = await new Citus(query, schema).findShards();
      // A database that may sleep is left alone.
      if (!shards) clearInterval(this.timer);
      const found = shards ?? [];
      const map = JSON.stringify(found);
      if (map === this.known) return;
      const isHashKnown = found.length === 0 || (await this.isHashKnown());
      this.known = map;
      const nodes = new Map(this.nodes.map((node) => [node.name, node]));
      const [first = new Shard(), ...others] = (isHashKnown ? found : []).map(({ minHash, node: name }) => {
        const node = nodes.get(name) ?? new ShardNode(name);
        nodes.set(name, node);
        return new Shard(minHash, node);
      });
      this.shards = [first, ...others];
      const names = this.nodes.map(({ name }) => name).join(', ');
      if (!isHashKnown) this.logger.warn('This database hashes ids in an unknown way: creates go on, but slower');
      else if (names) this.logger.log(`The table plants has ${found.length} shards, on ${names}`);
      else this.logger.log('The table plants is not distributed any more');
    } catch (error) {
      this.logger.warn(`The shards of the table plants were not read: ${reasonOf(error)}`);
    }
  }

  private async isHashKnown(): Promise<boolean> {
    const rows = await this.database.query<{ id: string; hash: string }>(
      'SELECT id::text, pg_catalog.hashint8(id)::text AS hash FROM pg_catalog.unnest($1::bigint[]) AS id',
      [SAMPLE_IDS.map(String)],
    );
    return rows.every(({ id, hash }) => hashInt8(BigInt(id)) === Number(hash));
  }

  /** One at a time: where a node hangs, each holds a connection. */
  private probe(node: ShardNode): Promise<void> {
    if (node.probe) return node.probe;
    const hasShards = this.nodes.includes(node);
    let id = 0n;
    while (hasShards && this.find(id).node !== node && id < MAX_PROBE_IDS) id += 1n;
    const probe = (node.probe = this.statements.probe(id));
    const forget = (): void => (node.probe = undefined);
    probe.then(forget, (error: unknown) => {
      afterRelease(error, forget);
    });
    return probe;
  }

  /** Creates for its shards are refused until a probe succeeds. */
  markAway(node: ShardNode, failure: unknown): void {
    if (node.isAway) return;
    node.failure = failure;
    this.logger.warn(`Shards of ${node.name} do not answer: creates for them are refused until they do`);
    // They may be somewhere else by now.
    void this.refresh();
    void this.awaitReturn(node);
  }

  private async awaitReturn(node: ShardNode): Promise<void> {
    do {
      await new Promise((done) => setTimeout(done, PROBE_EVERY_MS).unref());
      // Where it has lost its shards, those that wait for it are refused.
      if (!this.nodes.includes(node)) return;
      node.failure = await this.probe(node).catch((error: unknown) => error);
    } while (node.isAway);
    this.logger.log(`Shards of ${node.name} answer again`);
  }
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** The function `hashint8` of PostgreSQL, whose results partitions rest on, so that it does not change. */
export function hashInt8(id: bigint): number {
  const high = Number(BigInt.asIntN(32, id >> 32n));
  const word = Number(BigInt.asIntN(32, id)) ^ (id >= 0n ? high : ~high);
  const start = (0x9e3779b9 + 4 + 3923095) | 0;
  // The final mix of Bob Jenkins' hash: three words change in turn.
  let [target, source, other] = [start, start, (start + word) | 0];
  for (const bits of [14, 11, 25, 16, 4, 14, 24]) {
    const changed = ((target ^ source) - rotate(source, bits)) | 0;
    target = other;
    other = source;
    source = changed;
  }
  return source;
}
