import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { withinTime } from '../util/timing.js';
import { giveUp, ignoreErrors, internalsOf } from './pg-client.js';

/** Pause between two inspections. */
const INSPECT_EVERY_MS = 1000;

const FIND_WORKING_SESSIONS = `SELECT pg_catalog.pg_backend_pid() AS own,
  ARRAY(SELECT pid FROM pg_catalog.pg_stat_activity WHERE pid = ANY($1::int[]) AND state <> 'idle') AS working`;

const logger = new Logger('ConnectionPool');

/** The part of a ConnectionPool in use. */
interface Pool extends pg.Pool {
  readonly timeout: number;
  readonly spare: pg.PoolClient[];
  isBusy(): boolean;
}

/** Ends each connection that no statement uses: it may have died unnoticed, or lead to a server that is not the primary any more. */
export function dropIdle(pool: Pool): void {
  const drop = (client: pg.PoolClient): void => {
    giveUp(client);
    client.release(true);
  };
  pool.spare.splice(0).forEach(drop);
  for (let left = pool.idleCount; left > 0; left--) pool.connect().then(drop, () => undefined);
}

/**
 * Ends the connections that are dead of those whose statements were not answered within the time limit, until the others are
 * answered. While the server does not answer, no connection counts as dead.
 *
 * @param overdue loses those that are ended
 */
export async function endDead(pool: Pool, overdue: Set<pg.PoolClient>): Promise<void> {
  // The inspection must not use a dead one.
  dropIdle(pool);
  let inspector: pg.PoolClient | undefined;
  while (overdue.size > 0) {
    try {
      // It keeps its place in the pool meanwhile; if no place is free, this is one more connection.
      inspector ??= await (
        pool.isBusy() ? new pg.Pool({ ...pool.options, max: 1 }).on('connect', ignoreErrors) : pool
      ).connect();
      if (!(await inspect(inspector, overdue, pool.timeout))) break;
    } catch {
      inspector?.release(true);
      inspector = undefined;
    }
    if (overdue.size > 0) await sleep(INSPECT_EVERY_MS);
  }
  inspector?.release(true);
}

/**
 * A connection is dead if the server has no session for it, or an idle one: the statement did not arrive, or its answer was lost.
 * Returns false behind a pooler: there the sessions have other numbers than the clients know.
 */
async function inspect(inspector: pg.PoolClient, overdue: Set<pg.PoolClient>, timeout: number): Promise<boolean> {
  const asked = [...overdue];
  const pids = asked.map((client) => internalsOf(client).processID);
  const answer = inspector.query<{ own: number; working: number[] }>(FIND_WORKING_SESSIONS, [pids]);
  const [row] = (await withinTime(answer, timeout, () => new Error('the inspection was not answered'))).rows;
  if (row?.own !== internalsOf(inspector).processID) return false;
  for (const [i, client] of asked.entries()) {
    if (row.working.includes(pids[i] ?? 0) || !overdue.delete(client)) continue;
    logger.warn('A database connection was lost without a sign; another one replaces it');
    giveUp(client);
  }
  return true;
}
