import { Injectable } from '@nestjs/common';
import pg from 'pg';
import { DatabaseOverloadedError, READ_ONLY, sqlStateOf } from '../prisma/database.errors.js';
import { Database } from '../prisma/database.js';
import { withinTime } from '../util/timing.js';
import { COLUMNS } from './plant-statements.js';

const PROBE_EVERY_MS = 2000;
const CHECK_TIMEOUT_MS = 2000;
/** For this long after a lack of resources, probes are large. Small rows still fit on a full disk. */
const LARGE_PROBES_MS = 60_000;
/** SQLSTATEs of a server that lacks resources or cannot use its files. 53300 (too many connections) is not one. */
const LACKS_RESOURCES = /^(?:53(?!300)|58)/;
/** SQLSTATEs that refuse the plant of the probe. Other plants may still be accepted. */
const PLANT_REFUSED = /^(?:22|23|P0001|SKIP0|42501)/;
/** The routine of PostgreSQL that reports a missing right. A policy has the same SQLSTATE, but another routine. */
const ACL_CHECK_ROUTINE = 'aclcheck_error';
const REASONS: Partial<Record<string, string>> = {
  '': 'the database cannot be reached',
  [READ_ONLY]: 'the database accepts no writes: it is a standby, or read-only',
  '53100': 'the disk of the database is full',
  [ACL_CHECK_ROUTINE]: 'the role lacks a right that a create needs: `plant-store migrate` gives those on the tables',
};

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
  /** The result of the last probe that got a connection. */
  private failure: Error | undefined;
  private probing = Promise.resolve();
  /** The time of the next probe; Infinity while one runs. */
  private nextProbe = 0;
  private largeUntil = 0;

  /** @internal The declarations of hosts need no type of it. */
  constructor(private readonly database: Database) {}

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
    await withinTime(this.probing, CHECK_TIMEOUT_MS, () => late).catch((failure: unknown) => {
      if (!this.database.isBusy()) throw failure;
    });
    if (this.failure) throw this.failure;
  }

  /** Records a failed create: after a lack of resources the next probes are large. */
  noteFailure(error: unknown): void {
    if (LACKS_RESOURCES.test(sqlStateOf(error) ?? '')) this.largeUntil = performance.now() + LARGE_PROBES_MS;
  }

  private async probe(): Promise<void> {
    const { database } = this;
    try {
      await database.query(probeStatement(database.schema, performance.now() < this.largeUntil));
      this.failure = this.degradation = undefined;
    } catch (cause) {
      if (cause instanceof DatabaseOverloadedError) return;
      this.noteFailure(cause);
      const state = sqlStateOf(cause) ?? '';
      const { routine } = cause as { routine?: string };
      const reason = REASONS[routine === ACL_CHECK_ROUTINE ? routine : state];
      const isDegraded = reason === undefined && PLANT_REFUSED.test(state);
      const degraded = 'degraded: a constraint, trigger or policy of the table plants refuses an ordinary plant';
      this.degradation = isDegraded ? `${degraded} (SQLSTATE ${state})` : undefined;
      const refusal = `the database refuses creates (SQLSTATE ${state})`;
      this.failure = isDegraded ? undefined : new Error(reason ?? refusal, { cause });
    }
  }
}

/**
 * Inserts a plant and rolls it back, in one statement that any connection can run. A large one needs new pages. It
 * waits for a lock, the disk and a standby for less time than a create.
 */
function probeStatement(schema: string, isLarge: boolean): string {
  // Random text cannot be compressed.
  const large = `(SELECT string_agg(md5(random()::text), ''::text) FROM generate_series(1, 500))`;
  return `DO ${pg.escapeLiteral(`DECLARE stored text;
    BEGIN
      PERFORM set_config('lock_timeout'::text, '1000'::text, true), set_config('synchronous_commit'::text, 'local'::text, true);
      INSERT INTO ${pg.escapeIdentifier(schema)}.plants (${COLUMNS})
        VALUES ((random() * 9e15::float8)::bigint, 0::bigint, ${isLarge ? large : `'Rose'::text`}, NULL::text, NULL::text, NULL::text)
        ON CONFLICT (id) DO NOTHING RETURNING id::text INTO stored;
      IF stored IS NULL THEN RAISE EXCEPTION SQLSTATE 'SKIP0'; END IF;
      RAISE EXCEPTION SQLSTATE 'PLANT';
    EXCEPTION WHEN SQLSTATE 'PLANT' THEN NULL;
    END`)}`;
}
