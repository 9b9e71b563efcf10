import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { withinTime } from '../util/timing.js';
import { giveUp, ignoreErrors, internalsOf } from './pg-client.js';

/** From one inspection to the next. */
const INSPECT_EVERY_MS = 1000;

const FIND_WORKING_SESSIONS = `SELECT pg_catalog.pg_backend_pid() AS own,
  ARRAY(SELECT pid FROM pg_catalog.pg_stat_activity WHERE pid = ANY($1::int[]) AND state <> 'idle') AS working`;

/** What is needed of the pool of these connections. */
interface InspectedPool extends pg.Pool {
  readonly timeout: number;
  isBusy(): boolean;
  dropIdle(): void;
  timeUp(): Error;
}

/**
 * The connections of a pool that are in use by a statement which was not answered within the time limit. Its caller does not wait
 * any more. Those that turn out to be dead are ended.
 */
export class OverdueConnections {
  private readonly logger = new Logger('ConnectionPool');
  private readonly clients = new Set<pg.PoolClient>();
  private isInspecting = false;

  constructor(private readonly pool: InspectedPool) {}

  add(client: pg.PoolClient): void {
    this.clients.add(client);
    void this.inspect();
  }

  delete(client: pg.PoolClient): void {
    this.clients.delete(client);
  }

  /** Ends all of them. */
  end(): void {
    for (const client of this.clients) giveUp(client);
  }

  /** Ends those that are dead, until the others are answered. While the server cannot be asked, none counts as dead. */
  private async inspect(): Promise<void> {
    if (this.isInspecting) return;
    this.isInspecting = true;
    // They may have died unnoticed, and the inspection must not use one of them.
    this.pool.dropIdle();
    let inspector: pg.PoolClient | undefined;
    while (this.clients.size > 0) {
      try {
        // It keeps its place in the pool meanwhile; where none is free, it is one more.
        inspector ??= await (
          this.pool.isBusy() ? new pg.Pool({ ...this.pool.options, max: 1 }).on('connect', ignoreErrors) : this.pool
        ).connect();
        if (!(await this.endDead(inspector))) break;
      } catch {
        inspector?.release(true);
        inspector = undefined;
      }
      if (this.clients.size > 0) await sleep(INSPECT_EVERY_MS);
    }
    inspector?.release(true);
    this.isInspecting = false;
  }

  /**
   * A connection is dead if the server has no session for it, or an idle one: the statement did not arrive, or its answer was lost.
   * Returns false behind a pooler: there the sessions have other numbers than the clients know.
   */
  private async endDead(inspector: pg.PoolClient): Promise<boolean> {
    const asked = [...this.clients];
    const pids = asked.map((client) => internalsOf(client).processID);
    const answer = inspector.query<{ own: number; working: number[] }>(FIND_WORKING_SESSIONS, [pids]);
    const [row] = (await withinTime(answer, this.pool.timeout, () => this.pool.timeUp())).rows;
    if (row?.own !== internalsOf(inspector).processID) return false;
    for (const [i, client] of asked.entries()) {
      if (row.working.includes(pids[i] ?? 0) || !this.clients.delete(client)) continue;
      this.logger.warn('A database connection was lost without a sign; another one replaces it');
      giveUp(client);
    }
    return true;
  }
}
