import pg from 'pg';
import { assertValid, optionsOf } from '../util/options.js';
import { type Query, withConnection } from './connection.js';
import { type DatabaseUrl, parseDatabaseUrl, warnOfIgnored } from './database-url.js';
import { isLocked, lacksPrivilege, MigrationError } from './database.errors.js';
import { DAY_MS, type MigratorOptions, MigratorSettings } from './database.options.js';
import { findPending, warnIfOthersMayCreate } from './table-checks.js';

/** The advisory lock of `prisma migrate`, for the whole database. So both can be used. */
const PRISMA_LOCK = 72707369;

const PRISMA_HISTORY = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`;
const INSERT_HISTORY = `INSERT INTO _prisma_migrations (id, migration_name, checksum, finished_at, applied_steps_count)
  VALUES (gen_random_uuid(), $1, $2, clock_timestamp(), 1)`;

/** The rights that the service and `plant-store token` need. */
const PRIVILEGES = { plants: 'SELECT, INSERT', access_tokens: 'SELECT, INSERT, UPDATE', _prisma_migrations: 'SELECT' };

/**
 * Creates the tables of this version, as `plant-store migrate` does, and tells whether a database has them.
 *
 * @example
 * import { MigrationError, Migrator } from 'plant-store';
 *
 * const url = process.env.DATABASE_URL ?? 'postgresql://owner@localhost:5432/app';
 * const migrator = new Migrator({ url, schema: 'garden' });
 * const outcome: unknown = await migrator.migrate().catch((reason: unknown) => reason);
 * console.log(outcome instanceof MigrationError ? outcome.code : await migrator.status()); // locked: run it again
 */
export class Migrator {
  private readonly database: DatabaseUrl;
  private readonly grantTo: string;

  /** Connects to nothing yet. @throws Error that names every fault of the options */
  constructor(options: MigratorOptions) {
    const { url, password, schema, grantTo = '' } = assertValid(optionsOf(MigratorSettings, options), 'Migrator');
    this.database = parseDatabaseUrl(url, password, schema);
    this.grantTo = grantTo;
  }

  /**
   * Applies the pending migrations in one transaction and returns their names. It waits up to 30 seconds for another
   * migration. An interrupted call leaves nothing behind.
   * @throws {@link MigrationError} whose `code` says why: with `locked`, run it again
   */
  async migrate(): Promise<string[]> {
    warnOfIgnored(this.database);
    try {
      // Its waits have limits of their own.
      return await withConnection(this.database, (query) => this.migrateOn(query), DAY_MS);
    } catch (cause) {
      const locked = `${this.database.schemaDescription} is locked: another session is in the way. Run it again`;
      if (isLocked(cause)) throw new MigrationError('locked', locked, { cause });
      const advice = 'Run it as the owner of the database and its tables: MIGRATION_DATABASE_URL';
      if (!lacksPrivilege(cause)) throw cause;
      throw new MigrationError('refused', `${(cause as Error).message}. ${advice}`, { cause });
    }
  }

  /**
   * Tells whether the tables are those of this version, older or missing, unknown, or out of reach.
   * @throws {@link MigrationError} `refused`
   */
  async status(): Promise<'current' | 'behind' | 'unknown' | 'unreachable'> {
    try {
      const pending = await withConnection(this.database, (query) => findPending(query, this.database));
      return pending.length > 0 ? 'behind' : 'current';
    } catch (error) {
      const code = error instanceof MigrationError ? error.code : undefined;
      if (code === 'unknown' || code === 'unreachable') return code;
      throw error;
    }
  }

  private async migrateOn(query: Query): Promise<string[]> {
    const { database, grantTo } = this;
    const schema = pg.escapeIdentifier(database.schema);
    // READ COMMITTED shows what others have committed during the wait. The limits of the role must not end the wait.
    // Before PostgreSQL 17 there is no transaction_timeout. A string of a migration means the same for every role.
    await query(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path TO ${schema}, pg_temp;
      SELECT set_config(name, '0'::text, true) FROM pg_settings
        WHERE name IN ('statement_timeout', 'transaction_timeout');
      SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL lock_timeout = '30s';
      SET LOCAL standard_conforming_strings = on`);
    await query(`SELECT pg_advisory_xact_lock(${PRISMA_LOCK}::int8)`);
    // From here on creates wait. The first setting passes the limit on to other nodes of Citus. PostgreSQL without
    // Citus ignores it.
    await query(`SET LOCAL citus.propagate_set_commands TO 'local'; SET LOCAL lock_timeout = '2s'`);
    const pending = await findPending(query, database);
    if (pending.length > 0) {
      // IF NOT EXISTS would require the right to create schemas even if the schema exists.
      const found = await query('SELECT FROM pg_namespace WHERE nspname = $1::name', [database.schema]);
      if (found.length === 0) await query(`CREATE SCHEMA ${schema}`);
      await query(PRISMA_HISTORY);
    }
    for (const { name, checksum, sql } of pending) {
      await query(sql);
      await query(INSERT_HISTORY, [name, checksum]);
    }
    // The role may exist in a pooler only.
    const role = 'SELECT FROM pg_roles WHERE rolname = $1::name AND rolname <> current_user';
    if ((await query(role, [grantTo])).length > 0) {
      const tables = Object.entries(PRIVILEGES).map(([table, rights]) => `${rights} ON ${table}`);
      const all = [`USAGE ON SCHEMA ${schema}`, 'USAGE ON SEQUENCE access_tokens_id_seq', ...tables];
      await query(all.map((rights) => `GRANT ${rights} TO ${pg.escapeIdentifier(grantTo)}`).join('; '));
    }
    await warnIfOthersMayCreate(query, database);
    await query('COMMIT');
    return pending.map(({ name }) => name);
  }
}
