import { Injectable } from '@nestjs/common';
import { DatabaseOverloadedError, explainProbe } from '../prisma/database.errors.js';
import { StorePool } from '../prisma/store-pool.js';
import { withTimeout } from '../util/timing.js';
import { PlantsRepository } from './plants.repository.js';

const PROBE_EVERY_MS = 2000;
const CHECK_TIMEOUT_MS = 2000;

/**
 * Tells whether the store can create plants, for a health endpoint. Inject it in a module that imports the store.
 *
 * @example
 * import type { PlantsHealth } from 'plant-store';
 * declare const health: PlantsHealth; // injected
 *
 * const state = await health.check().then(() => health.degradation ?? 'up', (failure: Error) => failure.message);
 * console.log(state); // up
 */
@Injectable()
export class PlantsHealth {
  /** What is wrong although plants can be created; undefined if nothing is. It is as of the last check. */
  degradation: string | undefined;
  /** Why the last probe failed; undefined if it did not. A probe that found all connections busy does not count. */
  private failure: Error | undefined;
  private probing = Promise.resolve();
  /** The time of the next probe; Infinity while one runs. */
  private nextProbe = 0;

  /** @internal The declarations of hosts need no type of it. */
  constructor(
    private readonly pool: StorePool,
    private readonly repository: PlantsRepository,
  ) {}

  /**
   * Resolves if a plant can be created. A probe inserts a plant and rolls it back, at most every 2 seconds. Otherwise,
   * and while all connections are in use, the last result counts.
   *
   * @throws Error within 2 seconds. Its message is the reason without any secret; its `cause` has the details.
   */
  async check(): Promise<void> {
    const now = performance.now();
    if (now >= this.nextProbe) {
      this.nextProbe = Infinity;
      this.probing = this.probe().finally(() => (this.nextProbe = now + PROBE_EVERY_MS));
    }
    const late = new Error(`the database did not answer within ${CHECK_TIMEOUT_MS} ms`);
    await withTimeout(this.probing, CHECK_TIMEOUT_MS, () => late).catch((failure: unknown) => {
      if (!this.pool.isBusy()) throw failure;
    });
    if (this.failure) throw this.failure;
  }

  private async probe(): Promise<void> {
    try {
      await this.repository.probe();
      this.failure = this.degradation = undefined;
    } catch (cause) {
      if (cause instanceof DatabaseOverloadedError) return;
      const { reason, isDegraded } = explainProbe(cause);
      this.degradation = isDegraded ? reason : undefined;
      this.failure = isDegraded ? undefined : new Error(reason, { cause });
    }
  }
}
