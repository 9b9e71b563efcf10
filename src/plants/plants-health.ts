import { Injectable } from '@nestjs/common';
import pg from 'pg';
import { ConnectionPoolExhaustedError, READ_ONLY, sqlStateOf } from '../database/database.errors.js';
import { Database } from '../database/database.js';
import { findMissingRights, PLANTS_RIGHTS } from '../database/rights.js';
import { withinTime } from '../util/timing.js';
import { columnOf, TEXT_COLUMNS } from './plant-sql.js';
import { Shards } from './shards.js';

/** From one probe to the next. */
const PROBE_EVERY_MS = 2000;
/** Limit of the wait for the result of a probe. */
const CHECK_TIMEOUT_MS = 2000;
/** Limit of a probe's wait for the lock on the table. */
const LOCK_TIMEOUT_MS = 1000;

/** A role may have rights on some columns only. */
const COLUMNS = ['id', 'write_id', ...TEXT_COLUMNS.map(columnOf)].join(', ');

const MISSING_RIGHT = '42501';
const OVERLOADED = 'the database is overloaded: every connection is in use';
const UNREACHABLE = 'the database cannot be reached';
/** By SQLSTATE. */
const REASONS: Readonly<Record<string, string>> = {
  [READ_ONLY]: 'the database accepts no writes: it is a standby, or read-only',
  [MISSING_RIGHT]: 'the role lacks a right on the table plants',
  '42P01': 'the table plants is missing',
  '53100': 'the disk of the database is full',
  '53200': 'the database is out of memory',
  '53300': 'the database accepts no more connections',
  '55P03': 'the table plants is locked',
};

/** Tells whether the store can create plants, for the health endpoint of an application. */
@Injectable()
export class PlantsHealth {
  /** In one line, which shards take no creates while others do; undefined if all do. As of the last check. */
  degradation: string | undefined;
  private result = Promise.resolve();
  /** Infinite while a probe runs. */
  private nextProbe = 0;

  constructor(
    private readonly database: Database,
    private readonly shards: Shards,
  ) {}

  /**
   * Resolves where a plant could be created, in some shards at least. It rejects, within 2 seconds, with an `Error` whose message is the
   * reason, fit to be shown: it holds no secret. The details are its `cause`. The database is probed once in 2 seconds at most; until then the last result counts.
   */
  check(): Promise<void> {
    const now = performance.now();
    if (now >= this.nextProbe) {
      this.nextProbe = Infinity;
      this.result = this.probe().finally(() => (this.nextProbe = now + PROBE_EVERY_MS));
    }
    const late = `the database did not answer within ${CHECK_TIMEOUT_MS} ms`;
    return withinTime(this.result, CHECK_TIMEOUT_MS, () => new Error(this.database.isBusy() ? OVERLOADED : late));
  }

  private async probe(): Promise<void> {
    if (this.shards.nodes.length > 0) return this.probeNodes();
    this.degradation = undefined;
    const { isShort } = this.database;
    try {
      await this.database.query(this.statement(isShort));
      if (isShort) this.database.isShort = false;
    } catch (cause) {
      throw new Error(await this.reasonOf(cause), { cause });
    }
  }

  private async probeNodes(): Promise<void> {
    const { nodes } = this.shards;
    const failures = await Promise.all(nodes.map((node) => this.shards.check(node)));
    const failing = nodes.filter((_, index) => failures[index] !== undefined);
    const [cause] = failures;
    if (failing.length === nodes.length)
      throw new Error(this.database.isBusy() ? OVERLOADED : await this.reasonOf(cause), { cause });
    const names = failing.map(({ name }) => name).join(', ');
    this.degradation = failing.length > 0 ? `degraded: shards of ${names} do not answer` : undefined;
  }

  /**
   * An insert of no row takes the lock of a create, and fails for the server and the role as a create does. Where a statement has
   * failed for lack of resources, a row is inserted too, and rolled back: one that needs room in the table and, being too random to be
   * compressed, further pages for a long text.
   */
  private statement(insertsRow: boolean): string {
    const table = `${pg.escapeIdentifier(this.database.schema)}.plants`;
    const lockTimeout = Math.min(LOCK_TIMEOUT_MS, Math.ceil(this.database.timeout / 2));
    const text = (blocks: number): string =>
      `(SELECT pg_catalog.string_agg(pg_catalog.md5(pg_catalog.random()::text), '') FROM pg_catalog.generate_series(1, ${blocks}))`;
    const row = `BEGIN
      INSERT INTO ${table} (id, name, tag) SELECT ((pg_catalog.random() - 0.5::float8) * 1.8e19::float8)::bigint, ${text(500)}, ${text(55)} ON CONFLICT DO NOTHING;
      RAISE EXCEPTION SQLSTATE 'PLANT';
    EXCEPTION WHEN SQLSTATE 'PLANT' THEN NULL;
    END;`;
    // One statement, which every adapter can send.
    return `DO ${pg.escapeLiteral(`BEGIN
      PERFORM pg_catalog.set_config('lock_timeout', '${lockTimeout}', true), pg_catalog.set_config('synchronous_commit', 'local', true);
      INSERT INTO ${table} (${COLUMNS}) SELECT ${COLUMNS} FROM ${table} WHERE false;
      ${insertsRow ? row : ''}
    END`)}`;
  }

  private async reasonOf(error: unknown): Promise<string> {
    if (error instanceof ConnectionPoolExhaustedError) return OVERLOADED;
    const state = sqlStateOf(error);
    if (state === undefined) return UNREACHABLE;
    const { query, schema } = this.database;
    const lacks =
      state === MISSING_RIGHT && (await findMissingRights(query, schema, PLANTS_RIGHTS).catch(() => undefined));
    if (lacks) return lacks;
    if (/^(?:08|28|57)/.test(state)) return UNREACHABLE;
    return REASONS[state] ?? `the database refuses creates (SQLSTATE ${state})`;
  }
}
