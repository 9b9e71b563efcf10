import { Logger } from '@nestjs/common';
import { afterRelease, DatabaseTimeoutError } from '../database/database.errors.js';
import type { Database } from '../database/database.js';
import type { Lanes, LanesHealth } from '../plants/lanes.js';
import { INT64_MAX, INT64_MIN } from '../plants/new-plant.js';
import type { PlantStatements } from '../plants/plant-sql.js';
import { isNodeFailure } from '../plants/storage-failure.js';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { type NodeMonitor, ShardLane, ShardNode, ShardStatements } from './shard-lane.js';

/** Pause between two readings of the shards. */
const REFRESH_EVERY_MS = 60_000;
/** Pause between two probes of a node that is away. */
const PROBE_EVERY_MS = 500;
/** A node that answers no probe for so long is away. */
const PROBE_TIMEOUT_MS = 1000;
/** Ids that are tried until one belongs to the node that is to be probed. */
const MAX_PROBE_IDS = 100_000n;
/** Ids for which our hash is compared with the database's. */
const SAMPLE_IDS = [0n, 1n, -1n, 2n ** 32n, -(2n ** 32n), INT64_MAX, INT64_MIN];

/** A part of a distributed table, on one node. */
export interface ShardPlacement {
  /** The smallest hash of an id that belongs to it; it ends where the next one begins. */
  readonly minHash: number;
  /** The node that holds it, for people: its host and port. */
  readonly node: string;
}

/**
 * Which shard a plant belongs to, and which nodes answer. The map may be out of date: a statement may then concern two shards, which costs
 * time and changes no result.
 */
export class Shards implements NodeMonitor {
  /** In the order of their hashes. Empty if the table is not distributed. */
  private shards: readonly ShardLane[] = [];
  private readonly logger = new Logger(Shards.name);
  private readonly statements: ShardStatements;
  private readonly findOnly: Lanes['find'];
  private known = '[]';
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly lanes: Lanes,
    private readonly database: Database,
    statements: PlantStatements,
    private readonly findShards: () => Promise<ShardPlacement[]>,
  ) {
    this.statements = new ShardStatements(statements, database);
    this.findOnly = lanes.find;
  }

  /** Reads the map, and from time to time again. */
  async start(): Promise<void> {
    this.lanes.find = (id) => this.find(id) ?? this.findOnly(id);
    this.lanes.probe = () => this.probeAll();
    this.lanes.end = () => {
      clearInterval(this.timer);
      // Ends the wait for every node.
      this.shards = [];
    };
    this.timer = setInterval(() => void this.refresh(), REFRESH_EVERY_MS).unref();
    await this.refresh();
  }

  get nodes(): ShardNode[] {
    return [...new Set(this.shards.map(({ node }) => node))];
  }

  find(id: bigint): ShardLane | undefined {
    if (this.shards.length === 0) return undefined;
    const hash = hashInt8(id);
    return this.shards.findLast(({ minHash }) => minHash <= hash);
  }

  private probeAll(): Promise<LanesHealth> | undefined {
    const { nodes } = this;
    if (nodes.length === 0) return undefined;
    return Promise.all(nodes.map((node) => this.check(node))).then((failures) => {
      const failing = nodes.filter((_, index) => failures[index] !== undefined);
      const names = failing.map(({ name }) => name).join(', ');
      return {
        degradation: failing.length > 0 ? `shards of ${names} do not answer` : undefined,
        failure: failing.length === nodes.length ? failures[0] : undefined,
      };
    });
  }

  /** Resolves with the reason why a node takes no creates, within about a second; with undefined if it does. */
  async check(node: ShardNode): Promise<unknown> {
    if (node.isAway) return node.failure;
    const timeUp = new DatabaseTimeoutError(`shards of ${node.name} did not answer within ${PROBE_TIMEOUT_MS} ms`);
    try {
      await withinTime(this.probe(node), PROBE_TIMEOUT_MS, () => timeUp);
      return undefined;
    } catch (error) {
      // If all connections are in use, the probe was perhaps not sent.
      if (error === timeUp ? !this.database.isBusy() : isNodeFailure(error)) this.markAway(node, error);
      return error;
    }
  }

  private async refresh(): Promise<void> {
    try {
      const found = await this.findShards();
      const map = JSON.stringify(found);
      if (map === this.known) return;
      const isHashKnown = found.length === 0 || (await this.isHashKnown());
      this.known = map;
      const nodes = new Map(this.nodes.map((node) => [node.name, node]));
      this.shards = (isHashKnown ? found : []).map(({ minHash, node: name }) => {
        const node = nodes.get(name) ?? new ShardNode(name);
        nodes.set(name, node);
        return new ShardLane(minHash, node, this.statements, this);
      });
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

  /** One at a time: if a node hangs, each holds a connection. */
  private probe(node: ShardNode): Promise<void> {
    if (node.probe) return node.probe;
    const hasShards = this.nodes.includes(node);
    let id = 0n;
    while (hasShards && this.find(id)?.node !== node && id < MAX_PROBE_IDS) id += 1n;
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
    // Those that wait for it are refused.
    this.lanes.onChange();
    // They may be somewhere else by now.
    void this.refresh();
    void this.awaitReturn(node);
  }

  private async awaitReturn(node: ShardNode): Promise<void> {
    do {
      await new Promise((done) => setTimeout(done, PROBE_EVERY_MS).unref());
      // If it has lost its shards, those that wait for it are refused.
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
