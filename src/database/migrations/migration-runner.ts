import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { plainName, reasonOf } from '../../util/text.js';
import type { DatabaseUrl } from '../database-url.js';
import type { Query } from '../database.js';
import { sqlStateOf } from '../database.errors.js';
import { LOCK_NOT_AVAILABLE, withConnection } from './connection.js';
import { historyTable, type Migration, MigrationError } from './migration-status.js';

/** Limit of the wait for a table in use, as creates wait behind it: shorter than they may wait. */
const LOCK_TIMEOUT_MS = 2000;
/** Between two waits, for creates to go on. */
const PAUSE_MS = 2000;
/** After it, what a statement waits for is no create that ends by itself. */
const ASK_AFTER_MS = 1000;
const ASK_TIMEOUT_MS = 2000;
const DEADLOCK = '40P01';

// As Prisma makes it.
const HISTORY_COLUMNS = `(
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT pg_catalog.now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

const FIND_COLUMN = `SELECT FROM pg_catalog.pg_attribute AS a
  JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = $1::pg_catalog.name AND c.relname = $2::pg_catalog.name AND a.attname = $3::pg_catalog.name`;

const FIND_HOLDERS = `SELECT DISTINCT h.pid, a.usename::pg_catalog.text AS role, a.application_name AS application,
    pg_catalog.date_part('epoch'::pg_catalog.text, pg_catalog.clock_timestamp() - a.xact_start)::pg_catalog.int4 AS age
  FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids($1::pg_catalog.int4)) AS h (pid)
  LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = h.pid`;

/** A session that keeps a lock: what is null, only its own role and superusers may see. */
interface Holder {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string | null;
  /** Of its transaction, in seconds. */
  readonly age: number | null;
}

/** Where a migration runs: in a transaction that has begun, on a connection whose `search_path` has the schema. */
export interface MigrationSession {
  readonly query: Query;
  /** Its process of the server. */
  readonly pid: number;
  readonly database: DatabaseUrl;
  /** The schema and its database, for people. */
  readonly place: string;
  /** Milliseconds after which a table in use is not waited for again. */
  readonly lockWait: number;
}

/**
 * Applies a migration and records it as Prisma does, in the transaction of the session, so that nothing is left of one that is
 * interrupted.
 *
 * @param isBegun whether the history has it as begun and not finished: what the table has then decides whether it is to run
 */
export async function runMigration(session: MigrationSession, migration: Migration, isBegun: boolean): Promise<void> {
  const { query, database, lockWait } = session;
  const { schema } = database;
  // IF NOT EXISTS alone would ask for the privilege to create even where there is nothing to create.
  if ((await query('SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name', [schema])).length === 0)
    await query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
  if (!(await hasColumn(query, schema, { table: '_prisma_migrations', column: 'id' })))
    await query(`CREATE TABLE ${historyTable(schema)} ${HISTORY_COLUMNS}`);
  const deadline = performance.now() + lockWait;
  for (;;) {
    const holders = await attempt(session, () => apply(session, migration, isBegun));
    if (holders === undefined) return;
    const wait = `migration ${migration.name} of ${session.place} waits for ${holders}`;
    if (performance.now() + PAUSE_MS > deadline) {
      const advice = 'End that, or wait longer: `plant-store migrate --lock-wait SECONDS`';
      throw new MigrationError(
        'locked',
        `${wait}: it gave up after ${lockWait / 1000} s, with nothing changed. ${advice}`,
      );
    }
    new Logger('Migrator').warn(`${wait}; it lets creates go on, and tries again`);
    await sleep(PAUSE_MS);
  }
}

/** Returns undefined if the work is done, or else who kept a lock that it needs: nothing of it is left then, and no lock. */
async function attempt({ query, pid, database }: MigrationSession, work: () => Promise<void>) {
  const done = new AbortController();
  const holders = findHolders(database, pid, done.signal);
  try {
    await query(`SAVEPOINT attempt; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await work();
    return undefined;
  } catch (error) {
    if (!isKeptOut(error)) throw error;
    await query('ROLLBACK TO SAVEPOINT attempt');
    return describeHolders(await holders);
  } finally {
    done.abort();
  }
}

async function apply({ query, database, place }: MigrationSession, migration: Migration, isBegun: boolean) {
  const { name, checksum, makes, sql } = migration;
  const { schema } = database;
  const [start] = await query<{ time: string }>('SELECT pg_catalog.clock_timestamp()::pg_catalog.text AS time');
  if (isBegun) {
    const table = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(makes.table)}`;
    // What was interrupted may still wait for the table.
    if (await hasColumn(query, schema, { table: makes.table })) await query(`LOCK TABLE ${table}`);
    const isApplied = await hasColumn(query, schema, makes);
    await query(
      `UPDATE ${historyTable(schema)} SET ${isApplied ? 'finished_at' : 'rolled_back_at'} = pg_catalog.clock_timestamp()
       WHERE migration_name::pg_catalog.text = $1::pg_catalog.text AND finished_at IS NULL AND rolled_back_at IS NULL`,
      [name],
    );
    if (isApplied) return;
  }
  try {
    await query(sql);
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError) || isKeptOut(cause)) throw cause;
    const failure = `migration ${name} of ${place} failed: ${reasonOf(cause)}. Nothing of it is left`;
    throw new MigrationError('failed', `${failure}: remove the cause, and run \`plant-store migrate\` again`, {
      cause,
    });
  }
  await query(
    `INSERT INTO ${historyTable(schema)} (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, $4, pg_catalog.clock_timestamp(), 1)`,
    [randomUUID(), checksum, name, start?.time ?? null],
  );
}

function isKeptOut(error: unknown): boolean {
  return [LOCK_NOT_AVAILABLE, DEADLOCK].includes(sqlStateOf(error) ?? '');
}

async function hasColumn(
  query: Query,
  schema: string,
  { table, column = 'tableoid' }: { table: string; column?: string },
) {
  return (await query(FIND_COLUMN, [schema, table, column])).length > 0;
}

/** Asks on a connection of its own what the session waits for, unless the signal comes before. */
async function findHolders(database: DatabaseUrl, pid: number, signal: AbortSignal): Promise<Holder[]> {
  try {
    await sleep(ASK_AFTER_MS, undefined, { signal });
    return await withConnection(database, (query) => query<Holder>(FIND_HOLDERS, [String(pid)]), {
      timeout: ASK_TIMEOUT_MS,
      signal,
    });
  } catch {
    return [];
  }
}

function describeHolders(holders: readonly Holder[]): string {
  const each = holders.map(({ pid, role, application, age }) => {
    const names = [`role ${plainName(role ?? 'unknown')}`, application && `application ${plainName(application)}`];
    return `process ${pid} (${[...names, age !== null && `for ${age} s`].filter(Boolean).join(', ')})`;
  });
  return `a lock that ${each.join(' and ') || 'another session'} has`;
}
