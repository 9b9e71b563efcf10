import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { plainName, reasonOf } from '../../util/text.js';
import type { DatabaseUrl } from '../database-url.js';
import type { Query } from '../database.js';
import { MISSING_RIGHT, sqlStateOf } from '../database.errors.js';
import { withConnection } from './connection.js';
import { historyTable, type Migration, MigrationError } from './migration-status.js';

/** Limit of the wait for a table in use, as creates wait behind it: shorter than they may wait. */
const LOCK_TIMEOUT_MS = 2000;
/** Then the server ends a migration that hangs or has lost its connection, as creates wait behind it. */
const MAX_IDLE_MS = 5000;
/** Pause between two waits, so that creates go on. */
const PAUSE_MS = 2000;
/** A statement that waits for longer does not wait for a create, which would end by itself. */
const ASK_AFTER_MS = 1000;
/** SQLSTATEs: the time for a lock was up, or two sessions waited for each other. */
const KEPT_OUT = ['55P03', '40P01'];

const NAMES = `SELECT pg_catalog.quote_ident(current_user::text) AS role, pg_catalog.quote_ident(datname::text) AS database,
    pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(datdba)::text) AS owner,
    EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::name) AS "hasSchema"
  FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()`;
type Names = Readonly<{ role: string; database: string; owner: string; hasSchema: boolean }>;

// As Prisma makes it.
const HISTORY_COLUMNS = `(id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT pg_catalog.now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`;
const FIND_COLUMN = `SELECT FROM pg_catalog.pg_attribute AS a
  JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = $1::name AND c.relname = $2::name AND a.attname = $3::name`;
// Only roles with its rights may see how long another session's transaction lasts.
const FIND_HOLDERS = `SELECT DISTINCT h.pid, COALESCE(a.usename::text, '?') AS role,
    COALESCE(a.application_name, '?') AS application, COALESCE(pg_catalog.date_part('epoch'::text,
      pg_catalog.clock_timestamp() - a.xact_start)::int4::text, '?') AS age
  FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids($1::int4)) AS h (pid)
  LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = h.pid`;
type Holder = Readonly<{ pid: number; role: string; application: string; age: string }>;

/** Where a migration runs: in a transaction, on a connection with the schema in its `search_path`. */
interface MigrationSession {
  readonly query: Query;
  /** Its process of the server. */
  readonly pid: number;
  readonly database: DatabaseUrl;
  /** By `performance.now()`, when a table in use is not waited for again. */
  readonly deadline: number;
}

/** Makes the schema and the history if they are missing, so that no other role can make them. */
export async function makeHistory(query: Query, { schema, place }: DatabaseUrl): Promise<void> {
  const name = pg.escapeIdentifier(schema);
  const [names] = await query<Names>(NAMES, [schema]);
  const create = (sql: string, where: string): Promise<unknown> =>
    query(sql).catch((cause: unknown) => {
      if (sqlStateOf(cause) !== MISSING_RIGHT) throw cause;
      const { role = '', owner = '' } = names ?? {};
      const advice = `Run this as a role that may grant it, such as ${owner}: GRANT CREATE ON ${where} TO ${role}`;
      const message = `${place}: the role ${role} may not create tables there, as it lacks the right CREATE. ${advice}`;
      throw new MigrationError('refused', message, { cause });
    });
  // IF NOT EXISTS alone would ask for the privilege to create even if there is nothing to create.
  if (names?.hasSchema !== true) await create(`CREATE SCHEMA ${name}`, `DATABASE ${String(names?.database)}`);
  if (!(await hasColumn(query, schema, '_prisma_migrations', 'migration_name')))
    await create(`CREATE TABLE ${historyTable(schema)} ${HISTORY_COLUMNS}`, `SCHEMA ${name}`);
}

/**
 * Applies a migration and records it as Prisma does, in the transaction of the session.
 * @param isBegun whether the history has it as begun and not finished: what the table has then decides whether it is to run
 */
export async function runMigration(session: MigrationSession, migration: Migration, isBegun: boolean): Promise<void> {
  const { query, deadline } = session;
  for (;;) {
    const done = new AbortController();
    const holders = findHolders(session, done.signal);
    try {
      // On Citus what follows its setting is for the sessions on other nodes too, so that only the wait for locks is limited there.
      // Elsewhere that setting is a name without effect.
      await query(`SAVEPOINT attempt; SET LOCAL idle_in_transaction_session_timeout = ${MAX_IDLE_MS};
        SET LOCAL citus.propagate_set_commands TO 'local'; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await apply(session, migration, isBegun);
      return;
    } catch (error) {
      if (!KEPT_OUT.includes(sqlStateOf(error) ?? '')) throw error;
      // Releases all locks of tables, and keeps the lock of the migration.
      await query('ROLLBACK TO SAVEPOINT attempt');
      const wait = `migration ${migration.name} of ${session.database.place} waits for a lock of ${await holders}`;
      if (performance.now() + PAUSE_MS > deadline) {
        const advice = 'End that, or wait longer: `plant-store migrate --lock-wait SECONDS`';
        throw new MigrationError('locked', `${wait}: given up. ${advice}`);
      }
      new Logger('Migrator').warn(`${wait}; creates go on, and it tries again`);
    } finally {
      done.abort();
    }
    await sleep(PAUSE_MS);
  }
}

async function apply({ query, database }: MigrationSession, migration: Migration, isBegun: boolean): Promise<void> {
  const { schema, place } = database;
  const { name, checksum, makes, sql } = migration;
  const history = historyTable(schema);
  const [start] = await query<{ time: string }>('SELECT pg_catalog.clock_timestamp()::text AS time');
  if (isBegun) {
    // What was interrupted may still wait for the table.
    if (await hasColumn(query, schema, makes.table))
      await query(`LOCK TABLE ${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(makes.table)}`);
    const isApplied = await hasColumn(query, schema, makes.table, makes.column);
    await query(
      `UPDATE ${history} SET ${isApplied ? 'finished_at' : 'rolled_back_at'} = pg_catalog.clock_timestamp()
       WHERE migration_name::text = $1::text AND finished_at IS NULL AND rolled_back_at IS NULL`,
      [name],
    );
    if (isApplied) return;
  }
  await query(sql).catch((cause: unknown) => {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
    const advice = 'Nothing of it is left: remove the cause, and run `plant-store migrate` again';
    const message = `migration ${name} of ${place} failed: ${reasonOf(cause)}. ${advice}`;
    throw new MigrationError('failed', message, { cause });
  });
  await query(
    `INSERT INTO ${history} (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, $4, pg_catalog.clock_timestamp(), 1)`,
    [randomUUID(), checksum, name, start?.time ?? null],
  );
}

/** Whether the schema has the table or, if one is given, its column. */
async function hasColumn(query: Query, schema: string, table: string, column = 'tableoid'): Promise<boolean> {
  return (await query(FIND_COLUMN, [schema, table, column])).length > 0;
}

/** Asks on a connection of its own what the session waits for, unless the signal comes before. */
async function findHolders({ database, pid }: MigrationSession, signal: AbortSignal): Promise<string> {
  const ask = (query: Query): Promise<Holder[]> => query(FIND_HOLDERS, [String(pid)]);
  const holders = await sleep(ASK_AFTER_MS, undefined, { signal })
    .then(() => withConnection(database, ask, { timeout: LOCK_TIMEOUT_MS, signal }))
    .catch(() => []);
  const each = holders.map(
    ({ pid, role, application, age }) =>
      `process ${pid} (role ${plainName(role)}, application ${plainName(application)}, for ${age} s)`,
  );
  return each.join(' and ') || 'another session';
}
