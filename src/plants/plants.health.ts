import { Injectable } from '@nestjs/common';
import { DatabaseOverloadedError, explainProbe, LACKS_RIGHT, ReadOnlyServerError } from '../prisma/database.errors.js';
import { StorePool } from '../prisma/store-pool.js';
import { DENIED_FUNCTION } from '../prisma/table-checks.js';
import { withTimeout } from '../util/timing.js';
import { COLUMNS, tableIn } from './plants.repository.js';

const PROBE_EVERY_MS = 2000;
const CHECK_TIMEOUT_MS = 2000;

/** A create reads the columns that it writes: a look-up finds the plant that has the id. The table is $1. */
const RIGHTS = Object.values(COLUMNS).flatMap(([column]) =>
  ['INSERT', 'SELECT'].map((right) => `has_column_privilege($1::regclass::oid, '${column}'::text, '${right}'::text)`),
);
/** It writes nothing. So a locked table or a full disk is seen by creates alone. */
const PROBE = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only'::text) = 'on'::text AS "isReadOnly",
  ${RIGHTS.join(' AND ')} AS "hasRights", ${DENIED_FUNCTION} AS "deniedFunction"`;

interface ProbeRow {
  readonly isReadOnly: boolean;
  readonly hasRights: boolean;
  readonly deniedFunction: string | null;
}

/**
 * Tells whether the store can create plants, for a health endpoint. Inject it in a module that imports the store.
 *
 * @example
 * import type { PlantsHealth } from 'plant-store';
 * declare const health: PlantsHealth; // injected
 *
 * const state = await health.check().then(() => 'up', (failure: Error) => failure.message);
 * console.log(state); // up
 */
@Injectable()
export class PlantsHealth {
  /** Why the last probe failed; undefined if it did not. A probe that found all connections busy does not count. */
  private failure: Error | undefined;
  private probing = Promise.resolve();
  /** The time of the next probe; Infinity while one runs. */
  private nextProbe = 0;

  /** @internal The declarations of hosts need no type of it. */
  constructor(private readonly pool: StorePool) {}

  /**
   * Resolves if the database can be reached, accepts writes, and gives the role all rights that a create needs. It is
   * asked at most every 2 seconds. Otherwise, and while all connections are in use, the last result counts.
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
      this.failure = await this.findFault();
    } catch (cause) {
      if (!(cause instanceof DatabaseOverloadedError)) this.failure = new Error(explainProbe(cause), { cause });
    }
  }

  private async findFault(): Promise<Error | undefined> {
    const { pool } = this;
    const [row] = await pool.execute<ProbeRow>(PROBE, [tableIn(pool.schema)], ([found]) => {
      if (found?.isReadOnly === true) throw new ReadOnlyServerError();
    });
    if (row?.hasRights !== true) return new Error(LACKS_RIGHT);
    if (row.deniedFunction === null) return undefined;
    return new Error(`the role may not execute a function that creates need, ${row.deniedFunction}: GRANT it`);
  }
}
