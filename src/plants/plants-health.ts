import { Injectable, Logger } from '@nestjs/common';
import { ConnectionPoolExhaustedError, MISSING_RIGHT, READ_ONLY, sqlStateOf } from '../database/database.errors.js';
import { Database } from '../database/database.js';
import { findMissingRights, PLANTS_RIGHTS } from '../database/rights.js';
import { findUnlogged } from '../database/table-checks.js';
import { withinTime } from '../util/timing.js';
import { CreateFailures } from './create-failures.js';
import { Lanes } from './lanes.js';
import { probeStatement, SKIPPED } from './plants-probe.js';

/** Minimum time between two probes. */
const PROBE_EVERY_MS = 2000;
/** Pause between two inspections of the tables for changes by others: they are known within a minute. */
const INSPECT_EVERY_MS = 50_000;
/** Limit of the wait for the result of a probe. */
const CHECK_TIMEOUT_MS = 2000;

const OVERLOADED = 'the database is overloaded: every connection is in use';
const UNREACHABLE = 'the database cannot be reached';
/** By SQLSTATE. */
const REASONS: Readonly<Record<string, string>> = {
  '28000': 'the database refuses the role: it may not log in, or not from here (SQLSTATE 28000)',
  '28P01': 'the database refuses the password of the role (SQLSTATE 28P01)',
  '3D000': 'the database does not exist (SQLSTATE 3D000)',
  [READ_ONLY]: 'the database accepts no writes: it is a standby, or read-only',
  [MISSING_RIGHT]: 'the role lacks a right, or row level security refuses its plants (SQLSTATE 42501)',
  '42P01': 'the table plants is missing',
  '53100': 'the disk of the database is full',
  '53200': 'the database is out of memory',
  '53300': 'the database accepts no more connections (SQLSTATE 53300)',
  '55P03': 'the table plants is locked',
};

/**
 * Tells whether the store can create plants, for the health endpoint of an application. Inject it in a module that imports the store.
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
  /** Which parts of the table take no creates while others do, as of the last probe. */
  private failingParts: string | undefined;
  /** The tables that a crash would empty, as of the last inspection. The start has found no such table. */
  private unlogged: string | undefined;
  private readonly logger = new Logger(PlantsHealth.name);
  private nextInspection = performance.now() + INSPECT_EVERY_MS;
  private result = Promise.resolve();
  /** Infinite while a probe runs. */
  private nextProbe = 0;

  constructor(
    private readonly database: Database,
    private readonly lanes: Lanes,
    private readonly failures: CreateFailures,
  ) {}

  /** What is wrong although plants can be created, in one line; undefined if nothing is. As of the last check. */
  get degradation(): string | undefined {
    const found = [this.failingParts, this.unlogged].filter(Boolean).join('; ');
    return found === '' ? undefined : `degraded: ${found}`;
  }

  /**
   * Resolves if a plant could be created, in some shards at least. The database is probed once in 2 seconds at most; until then the last result
   * counts. A plant is inserted, and rolled back, only after creates have failed in a way that may concern each.
   *
   * @throws Error within 2 seconds; its message is the reason, without any secret, and its `cause` has the details
   */
  check(): Promise<void> {
    const now = performance.now();
    if (now >= this.nextProbe) {
      this.nextProbe = Infinity;
      this.result = this.probe().finally(() => (this.nextProbe = now + PROBE_EVERY_MS));
      void this.result.then(() => this.inspect(now)).catch(() => undefined);
    }
    const late = `the database did not answer within ${CHECK_TIMEOUT_MS} ms`;
    return withinTime(this.result, CHECK_TIMEOUT_MS, () => new Error(this.database.isBusy() ? OVERLOADED : late));
  }

  private async probe(): Promise<void> {
    const probing = this.lanes.probe();
    const parts = probing && (await probing);
    if (parts?.failure !== undefined) {
      const { failure: cause } = parts;
      throw new Error(this.database.isBusy() ? OVERLOADED : await this.reasonOf(cause), { cause });
    }
    this.failingParts = parts?.degradation;
    if (parts) return;
    const { isShort, schema, timeout } = this.database;
    const row = isShort ? 'large' : this.failures.isTableSuspected ? 'ordinary' : undefined;
    try {
      await this.database.query(probeStatement(schema, timeout, row));
      if (isShort) this.database.isShort = false;
      if (row) this.failures.forget();
    } catch (cause) {
      throw new Error(await this.reasonOf(cause), { cause });
    }
  }

  /** Runs after a successful probe; the result of the probe does not wait for it. */
  private async inspect(now: number): Promise<void> {
    if (now < this.nextInspection) return;
    this.nextInspection = now + INSPECT_EVERY_MS;
    const { query, schema } = this.database;
    const [unlogged] = await Promise.all([findUnlogged(query, schema), this.failures.readTriggers()]);
    if (unlogged !== undefined && this.unlogged === undefined) this.logger.warn(`The service is degraded: ${unlogged}`);
    this.unlogged = unlogged;
  }

  private async reasonOf(error: unknown): Promise<string> {
    const state = sqlStateOf(error);
    if (state === undefined) return error instanceof ConnectionPoolExhaustedError ? OVERLOADED : UNREACHABLE;
    if (state === SKIPPED) return (await this.failures.explainMissing()).message;
    if (state === MISSING_RIGHT) {
      const { query, schema } = this.database;
      const lacks = await findMissingRights(query, schema, PLANTS_RIGHTS).catch(() => undefined);
      if (lacks !== undefined) return lacks;
    }
    const kind = /^(?:08|28|57)/.test(state) ? UNREACHABLE : 'the database refuses creates';
    return REASONS[state] ?? `${kind} (SQLSTATE ${state})`;
  }
}
