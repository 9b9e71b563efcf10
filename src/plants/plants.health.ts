import { Injectable } from '@nestjs/common';
import { withTimeout } from '../database/connection.js';
import { lacksPrivilege, ReadOnlyServerError, sqlStateOf } from '../database/database.errors.js';
import { StorePool } from '../database/store-pool.js';
import { COLUMNS, tableIn } from './plants.repository.js';

const CHECK_TIMEOUT_MS = 2000;
const LACKS_RIGHT = 'the role lacks a right that a create needs: `plant-store migrate` gives those on the tables';

/** A create reads the columns that it writes: a look-up finds the plant that has the id. The table is $1. */
const RIGHTS = Object.values(COLUMNS).flatMap(([column]) =>
  ['INSERT', 'SELECT'].map((right) => `has_column_privilege($1::regclass::oid, '${column}'::text, '${right}'::text)`),
);
/** It writes nothing. So a locked table or a full disk is seen by creates alone. */
const PROBE = `SELECT
  pg_is_in_recovery() OR current_setting('transaction_read_only'::text) = 'on'::text AS "isReadOnly",
  ${RIGHTS.join(' AND ')} AS "hasRights"`;

interface ProbeRow {
  readonly isReadOnly: boolean;
  readonly hasRights: boolean;
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
  private lastProbe = Promise.resolve();
  private isProbing = false;

  /** @internal The declarations of hosts need no type of it. */
  constructor(private readonly pool: StorePool) {}

  /**
   * Resolves if the database can be reached, accepts writes, and gives the role all rights that a create needs. Calls
   * that come together share one statement. While all connections are in use, the last result counts.
   *
   * @throws Error within 2 seconds. Its message is the reason without any secret; its `cause` has the details.
   */
  async check(): Promise<void> {
    if (!this.isProbing && !this.pool.isBusy()) {
      this.isProbing = true;
      this.lastProbe = this.probe().finally(() => (this.isProbing = false));
    }
    const late = new Error(`the database did not answer within ${CHECK_TIMEOUT_MS} ms`);
    await withTimeout(this.lastProbe, CHECK_TIMEOUT_MS, () => late);
  }

  private async probe(): Promise<void> {
    const { pool } = this;
    const verify = ([row]: ProbeRow[]): void => {
      if (row?.isReadOnly === true) throw new ReadOnlyServerError();
    };
    const [row] = await pool.execute<ProbeRow>(PROBE, [tableIn(pool.schema)], verify).catch((cause: unknown) => {
      throw new Error(explain(cause), { cause });
    });
    if (row?.hasRights !== true) throw new Error(LACKS_RIGHT);
  }
}

/** What a failed probe tells an operator. */
function explain(error: unknown): string {
  if (error instanceof ReadOnlyServerError) return error.message;
  if (lacksPrivilege(error)) return LACKS_RIGHT;
  const state = sqlStateOf(error);
  return state === undefined ? 'the database cannot be reached' : `the database refuses creates (SQLSTATE ${state})`;
}
