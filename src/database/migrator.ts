import pg from 'pg';
import { checkOptions } from '../util/options.js';
import { withConnection } from './connection.js';
import { type DatabaseUrl, logWarnings, parseDatabaseUrl } from './database-url.js';
import { MigrationError, MISSING_RIGHT, sqlStateOf } from './database.errors.js';
import { type MigratorOptions, MigratorSettings } from './database.options.js';
import type { Query } from './database.js';
import { MIGRATIONS } from './generated/migrations.js';
import { applyMigration, findPending, makeHistory, type Migration } from './migration-status.js';

/** Any number that no other program is likely to use; this one spells "PLNT". */
const LOCK_CLASS = 0x504c4e54;
/** The lock that Prisma's schema engine takes, for the whole database. */
const PRISMA_LOCK = 72707369;
/** SQLSTATEs: the time for a lock was up, or two sessions waited for each other. */
const LOCKED = ['55P03', '40P01'];

/** What the service and `plant-store token` do. */
const GRANTS = { plants: 'SELECT, INSERT', access_tokens: 'SELECT, INSERT, UPDATE', _prisma_migrations: 'SELECT' };

/** How a database compares with this build: as it should be, to be migrated, migrated by something else, or out of reach. */
export type MigrationState = 'current' | 'behind' | 'unknown' | 'unreachable';

/**
 * Makes the tables that this version needs, and tells whether a database has them, as `plant-store migrate` does.
 *
 * @example
 * import { MigrationError, Migrator } from 'plant-store';
 *
 * const migrator = new Migrator({ url: process.env.DATABASE_URL ?? 'postgresql://owner@localhost:5432/app', schema: 'garden' });
 * await migrator.migrate().catch((failure: unknown) => {
 *   if (!(failure instanceof MigrationError && failure.code === 'locked')) throw failure; // locked: another session was in the way
 * });
 * console.log(await migrator.status()); // current
 */
export class Migrator {
  protected readonly migrations: readonly Migration[] = MIGRATIONS;
  private readonly database: DatabaseUrl;
  private readonly grantTo: string | undefined;

  /** Connects to nothing yet. @throws Error that names every fault, if the options cannot work */
  constructor(options: MigratorOptions) {
    const { url, password, schema, grantTo } = checkOptions(MigratorSettings, options, 'Migrator');
    this.database = parseDatabaseUrl(url, password, schema);
    this.grantTo = grantTo;
  }

  /**
   * Applies the pending migrations in one transaction, waits up to 30 seconds for others that migrate, and returns the names of what this
   * call applied. If it is interrupted, nothing of it is left.
   * @throws {@link MigrationError} whose `code` says why
   */
  async migrate(): Promise<string[]> {
    const { place } = this.database;
    logWarnings(this.database);
    try {
      return await withConnection(this.database, (query) => this.migrateOn(query));
    } catch (cause) {
      const state = sqlStateOf(cause);
      if (LOCKED.includes(state ?? ''))
        throw new MigrationError('locked', `${place} is locked: another session is in the way. Run it again`, {
          cause,
        });
      if (state !== MISSING_RIGHT) throw cause;
      const advice = 'Run it as the owner of the database and its tables: MIGRATION_DATABASE_URL';
      throw new MigrationError('refused', `${(cause as Error).message}. ${advice}`, { cause });
    }
  }

  /** Compares the database with this version. @throws {@link MigrationError} `refused` */
  async status(): Promise<MigrationState> {
    try {
      const pending = await withConnection(this.database, (query) =>
        findPending(query, this.database, this.migrations),
      );
      return pending.length > 0 ? 'behind' : 'current';
    } catch (error) {
      const code = error instanceof MigrationError ? error.code : undefined;
      if (code === 'unknown' || code === 'unreachable') return code;
      throw error;
    }
  }

  private async migrateOn(query: Query): Promise<string[]> {
    const { database, migrations } = this;
    const { schema } = database;
    // It must see what others have committed while it waited for the lock. A role's own limits must not end a transaction that waits.
    await query(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path TO ${pg.escapeIdentifier(schema)}, pg_temp;
      SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL lock_timeout = '30s'`);
    const own = `pg_advisory_xact_lock(${LOCK_CLASS}::int4, hashtext($1::text))`;
    await query(`SELECT ${own}, pg_advisory_xact_lock(${PRISMA_LOCK}::int8)`, [schema]);
    // Creates wait behind it from here on. On Citus the limit is for the sessions on other nodes too; elsewhere its setting is a name without effect.
    await query(`SET LOCAL citus.propagate_set_commands TO 'local'; SET LOCAL lock_timeout = '2s'`);
    const pending = await findPending(query, database, migrations);
    if (pending.length > 0) await makeHistory(query, schema);
    for (const migration of pending) await applyMigration(query, schema, migration);
    await this.grantRights(query);
    await query('COMMIT');
    return pending.map(({ name }) => name);
  }

  /** Not to a role that only a pooler knows: the start of the service reports what it lacks. */
  private async grantRights(query: Query): Promise<void> {
    const { grantTo = '' } = this;
    const role = 'SELECT FROM pg_roles WHERE rolname = $1::name AND rolname <> current_user';
    if ((await query(role, [grantTo])).length === 0) return;
    const [grantee, schema] = [grantTo, this.database.schema].map(pg.escapeIdentifier);
    const tables = Object.entries(GRANTS).map(([table, rights]) => `${rights} ON ${schema}.${table}`);
    const grants = [`USAGE ON SCHEMA ${schema}`, `USAGE ON SEQUENCE ${schema}.access_tokens_id_seq`, ...tables];
    await query(grants.map((grant) => `GRANT ${grant} TO ${grantee}`).join('; '));
  }
}
