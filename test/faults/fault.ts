import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.js';

/** Something that goes wrong under load. */
export interface Fault {
  readonly name: string;
  /** Before the load: what the fault needs. */
  prepare?(cluster: Cluster): Promise<unknown>;
  /** Makes it go wrong. */
  inject(cluster: Cluster): unknown;
  /** Milliseconds until it ends; without them when it is injected. */
  readonly lasts?: number;
  /** Meanwhile it is injected again and again, after as many milliseconds. */
  readonly every?: number;
  /** Ends it. */
  restore?(cluster: Cluster): unknown;
  /** After the load. */
  cleanup?(cluster: Cluster): Promise<unknown>;
  /** What the service cannot survive: it is here to show that the harness finds a loss. */
  readonly loses?: true;
  /** No request may end without an answer: connections are refused at most. */
  readonly answersAll?: true;
  /** No create may fail: only an id that is taken is refused. */
  readonly createsAll?: true;
  /** The service was ended, not the database: recovery counts from when it listens again. */
  readonly endsService?: true;
  /** Mounts disks, which only root can do. */
  readonly needsRoot?: true;
}

export async function repeat(duration: number, pause: number, work: () => unknown): Promise<void> {
  const end = performance.now() + duration;
  while (performance.now() < end) {
    await work();
    await sleep(pause);
  }
}
