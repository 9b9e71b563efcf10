import pg from 'pg';
import { checkOptions } from '../../util/options.js';
import { rootReasonOf } from '../../util/text.js';
import { type DatabaseUrl, logWarnings, parseDatabaseUrl } from '../database-url.js';
import type { Database, Query } from '../database.js';
import { type DatabaseOptions, hasUrl } from '../database.options.js';
import { MIGRATIONS } from '../generated/migrations.js';
import { ALL_RIGHTS, PLANTS_RIGHTS, type Rights } from '../rights.js';
import { assertOwners, inspectTables } from '../table-checks.js';
import { acquireMigrationLock, sessionOf, sharesSessions, withConnection } from './connection.js';
import { makeHistory, runMigration } from './migration-runner.js';
import {
  assertHistoryUsable,
  assertMigrated,
  assertUnedited,
  type Migration,
  MigrationError,
  type MigrationStatus,
  readHistory,
  refusal,
  refuseTablesWithoutHistory,
  statusOf,
} from './migration-status.js';
import { type MigratorOptions, MigratorSettings } from './migrator.options.js';
import { inspectStore, POOLED, runAll } from './store-inspection.js';

/**
 * Makes the tables that this version needs, and tells whether a database has them, as `plant-store migrate` does.
 *
 * @example
 * import { Migrator } from 'plant-store';
 *
 * const migrator = new Migrator({ url: process.env.DATABASE_URL ?? 'postgresql://owner@localhost:5432/app', schema: 'garden' });
 * await migrator.migrate();
 * console.log((await migrator.status()).pending); // []
 */
export class Migrator {
  protected readonly migrations: readonly Migration[] = MIGRATIONS;
  private readonly database: DatabaseUrl;
  private readonly settings: MigratorSettings;
  /** The process of the server that migrates. */
  private session: number | undefined;

  /** Connects to nothing yet. @throws Error that names every fault, if the options cannot work */
  constructor(options: MigratorOptions) {
    this.settings = checkOptions(MigratorSettings, options, 'Migrator');
    const { url, password, schema } = this.settings;
    this.database = parseDatabaseUrl(url, password, schema);
  }

  /**
   * Applies the pending migrations, one process at a time, and returns the names of those that this call applied. Each migration is one
   * transaction: if it is interrupted, nothing of it is left.
   * @throws {@link MigrationError} whose `code` says why
   */
  async migrate(): Promise<string[]> {
    logWarnings(this.database);
    return withConnection(this.database, async (query, client) => {
      await this.refusePooler(client);
      this.session = await sessionOf(client);
      const deadline = performance.now() + this.settings.lockWait;
      const applied: string[] = [];
      for (;;) {
        const name = await this.applyNext(query, this.session, deadline);
        if (name === undefined) return applied;
        applied.push(name);
      }
    }).finally(() => (this.session = undefined));
  }

  /** Ends a running `migrate()` of this object, with its statement on the server. */
  async cancel(): Promise<void> {
    const { session } = this;
    const end = 'SELECT pg_catalog.pg_terminate_backend($1::int4)';
    if (session !== undefined) await withConnection(this.database, (query) => query(end, [String(session)]));
  }

  /** Compares the database with this version. @throws {@link MigrationError} `unreachable` or `refused` */
  async status(): Promise<MigrationStatus> {
    return withConnection(this.database, async (query) =>
      statusOf(await readHistory(query, this.schema), this.migrations),
    );
  }

  /**
   * Resolves if the database has the migrations of this version, finished, and no others.
   * @param rights of a store: then it also rejects if the role lacks one or a crash would lose plants, and warns of what may make creates fail
   * @throws {@link MigrationError} whose `code` says what is wrong
   */
  async assertCurrent(rights?: Rights): Promise<void> {
    await withConnection(this.database, async (query, client) => {
      // A store needs rights, and only its creates depend on it.
      if (rights === undefined) await assertMigrated(query, this, {}, this.migrations);
      else await inspectStore(query, this.database, client, rights, this.migrations);
    });
  }

  /** The schema that has, or will have, the tables. */
  get schema(): string {
    return this.database.schema;
  }

  /** The schema, database and server in words, safe to print. */
  get place(): string {
    return this.database.place;
  }

  /** One transaction: applies the next migration and returns its name, or else grants the rights of the service. */
  private async applyNext(query: Query, pid: number, deadline: number): Promise<string | undefined> {
    const { database, migrations, schema } = this;
    const { timeout, trustOwners } = this.settings;
    // It must see what others have committed while it waited for the lock.
    await query('BEGIN ISOLATION LEVEL READ COMMITTED');
    await acquireMigrationLock(query, schema, timeout, 'LOCAL');
    await refuseTablesWithoutHistory(query, this);
    await makeHistory(query, database);
    await assertOwners(query, this, trustOwners);
    const history = await readHistory(query, schema);
    const status = statusOf(history, migrations);
    assertUnedited(history, migrations, this);
    assertHistoryUsable(status, this, migrations);
    const next = migrations.find(({ name }) => !status.applied.includes(name));
    if (next === undefined) await this.grantRights(query);
    else await runMigration({ query, pid, database, deadline }, next, status.failed.includes(next.name));
    await query('COMMIT');
    return next?.name;
  }

  private async refusePooler(client: pg.Client): Promise<void> {
    // A session that others get too is nothing to wait in, or to end.
    if (!(await sharesSessions(this.database, client))) return;
    const found = `database ${this.database.description} ${POOLED}, which a migration cannot use`;
    const advice = 'Give the address of PostgreSQL itself: MIGRATION_DATABASE_URL';
    const message = `${found}. ${advice}, or the url of new Migrator({ url })`;
    throw new MigrationError('pooled', message, { forOperators: `${found}. ${advice}` });
  }

  /** Not to a role that only a pooler knows: the start of the service reports what it lacks. */
  private async grantRights(query: Query): Promise<void> {
    const { grantTo } = this.settings;
    const role = 'SELECT FROM pg_catalog.pg_roles WHERE rolname = $1::name AND rolname <> current_user::name';
    if (grantTo === undefined || (await query(role, [grantTo])).length === 0) return;
    const [grantee, schema] = [grantTo, this.schema].map(pg.escapeIdentifier);
    const grants = [
      `USAGE ON SCHEMA ${schema}`,
      `USAGE ON SEQUENCE ${schema}.access_tokens_id_seq`,
      ...Object.entries(ALL_RIGHTS).map(([table, rights]) => `${rights.join(', ')} ON ${schema}.${table}`),
    ];
    await query(grants.map((grant) => `GRANT ${grant} TO ${grantee}`).join('; '));
  }
}

/** For the start of a store, on whichever connection it has. Rejects with a MigrationError if creates would fail or could be lost. */
export async function assertReadyForCreates(database: Database, options: DatabaseOptions): Promise<void> {
  // On a connection of its own, which is closed after the check.
  if (hasUrl(options)) {
    const { url, password, schema } = options;
    return new Migrator({ url, password, schema }).assertCurrent(PLANTS_RIGHTS);
  }
  const { schema, query } = database;
  const location = { schema, place: `schema ${schema} of database ${await nameOf(database)}` };
  try {
    await runAll(
      () => assertMigrated(query, location, PLANTS_RIGHTS),
      () => inspectTables(query, location),
    );
  } catch (error) {
    throw refusal(error, location.place);
  }
}

async function nameOf({ query }: Database): Promise<string> {
  try {
    const [row] = await query<{ name: string }>('SELECT pg_catalog.current_database()::text AS name');
    return row?.name ?? '';
  } catch (cause) {
    const message = `cannot connect to the database that PlantsModule borrows from the host: ${rootReasonOf(cause)}`;
    throw new MigrationError('unreachable', message, { cause });
  }
}
