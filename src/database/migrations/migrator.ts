import { Logger } from '@nestjs/common';
import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { checkOptions } from '../../util/options.js';
import { MIGRATIONS_FOLDER } from '../../util/package-files.cjs';
import { reasonOf } from '../../util/text.js';
import { Citus } from '../citus.js';
import { type DatabaseUrl, logWarnings, parseDatabaseUrl } from '../database-url.js';
import type { Database, Query } from '../database.js';
import { type DatabaseOptions, hasUrl } from '../database.options.js';
import { ALL_RIGHTS, findMissingRights, PLANTS_RIGHTS, type Rights } from '../rights.js';
import { assertOwners, inspectTables } from '../table-checks.js';
import { acquireMigrationLock, sharesSessions, withConnection } from './connection.js';
import {
  assertHistoryUsable,
  assertNoForeignTables,
  assertTables,
  MigrationError,
  type MigrationStatus,
  readMigrationStatus,
  refuseWorker,
  resolution,
} from './migration-status.js';
import { type MigratorOptions, MigratorOptionsError, MigratorSettings } from './migrator.options.js';
import { readMigrations, withSchemaEngine } from './schema-engine.js';

/** Limit of the search for a pooler: a start does not wait for one that is busy. */
const POOLER_TIMEOUT_MS = 1000;
const NO_FILTERS = { externalTables: [], externalEnums: [] };

/** Brings a database to the tables that this build needs, and reports whether it has them. Fails with a MigrationError. */
export class Migrator {
  private readonly database: DatabaseUrl;
  private readonly settings: MigratorSettings;

  /** Connects to nothing yet. Throws a MigratorOptionsError where the options can't be used. */
  constructor(options: MigratorOptions) {
    this.settings = checkOptions(MigratorSettings, options, MigratorOptionsError);
    const { url, password, schema } = this.settings;
    this.database = parseDatabaseUrl(url, password, schema);
  }

  /** Applies what is pending, one process at a time, and returns the names of what this call applied. */
  async migrate(): Promise<string[]> {
    logWarnings(this.database);
    const migrations = await readMigrations(this.settings.folder);
    return this.connected(async (query, client) => {
      await this.lock(query, client);
      await this.createSchema(query);
      await assertOwners(query, this, this.settings.trustOwners);
      assertHistoryUsable(await readMigrationStatus(query, this.schema, migrations), this.place);
      await assertNoForeignTables(query, this);
      const applied = await this.apply(query, migrations);
      await this.grantRights(query);
      return applied;
    });
  }

  /**
   * Distributes the tables over the nodes of a Citus cluster, one process at a time. Returns what it has done: nothing where they are
   * distributed already.
   *
   * @param shards of plants; twice the nodes that may hold them unless given
   */
  async distribute(shards?: number): Promise<string[]> {
    const migrations = await readMigrations(this.settings.folder);
    return this.connected(async (query, client) => {
      await this.lock(query, client);
      await assertOwners(query, this, this.settings.trustOwners);
      await assertTables(query, this, migrations);
      return new Citus(query, this.schema).distribute(shards);
    });
  }

  /** Compares the database with this build. */
  async status(): Promise<MigrationStatus> {
    const migrations = await readMigrations(this.settings.folder);
    return this.connected((query) => readMigrationStatus(query, this.schema, migrations));
  }

  /** Throws unless the database has the migrations of this build, finished, and no others, and the role has these rights. */
  async assertCurrent(rights?: Rights): Promise<void> {
    const migrations = await readMigrations(this.settings.folder);
    await this.connected(async (query, client) => {
      await assertTables(query, this, migrations, rights);
      // A store needs rights, and only its creates depend on it.
      if (rights === undefined) return;
      await inspectTables(query, this);
      await this.warnOfPooler(client);
      await assertNodes(query, this);
    });
  }

  /** Says which of these rights the role lacks, and how to grant them. */
  findMissingRights(rights: Rights): Promise<string | undefined> {
    return this.connected((query) => findMissingRights(query, this.schema, rights));
  }

  /** The schema that holds, or shall hold, the tables. */
  get schema(): string {
    return this.database.schema;
  }

  /** Which schema of which database this is, safe to print. */
  get place(): string {
    return `schema ${this.schema} of database ${this.database.description}`;
  }

  private async lock(query: Query, client: pg.Client): Promise<void> {
    // Through a transaction pooler the lock would not be ours, and would stay when we are gone.
    if (await sharesSessions(this.database, client))
      throw new MigrationError(
        'pooled',
        `database ${this.database.description} is reached through a pooler that gives each transaction another session, ` +
          'which a migration cannot use. Give the address of PostgreSQL itself: MIGRATION_DATABASE_URL, or the url of new Migrator({ url })',
      );
    await refuseWorker(query, this);
    await acquireMigrationLock(query, this.schema, this.settings.timeout);
  }

  private async warnOfPooler(client: pg.Client): Promise<void> {
    if (this.database.isPooled) return;
    const limits = { signal: AbortSignal.timeout(POOLER_TIMEOUT_MS) };
    // It is a help, and no condition of the start.
    if (!(await sharesSessions(this.database, client, limits).catch(() => false))) return;
    new Logger(Migrator.name).warn(
      `Database ${this.database.description} is reached through a pooler that gives each transaction another session, and its URL does ` +
        'not say so: creates may fail. Add the parameter pgbouncer=true to DATABASE_URL (postgresql://…/plants?pgbouncer=true)',
    );
  }

  /** Not to a role that a pooler made up: what the service lacks, its start says. */
  private async grantRights(query: Query): Promise<void> {
    const { grantTo } = this.settings;
    const role = 'SELECT FROM pg_roles WHERE rolname = $1 AND rolname <> current_user';
    if (grantTo === undefined || (await query(role, [grantTo])).length === 0) return;
    const [grantee, schema] = [grantTo, this.schema].map((name) => pg.escapeIdentifier(name));
    const grants = [
      `USAGE ON SCHEMA ${schema}`,
      `USAGE ON SEQUENCE ${schema}.access_tokens_id_seq`,
      ...Object.entries(ALL_RIGHTS).map(([table, rights]) => `${rights.join(', ')} ON ${schema}.${table}`),
    ];
    await query(grants.map((grant) => `GRANT ${grant} TO ${grantee}`).join('; '));
  }

  private async createSchema(query: Query): Promise<void> {
    const { schema } = this;
    const found = await query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
    // IF NOT EXISTS alone would ask for the privilege to create even where there is nothing to create.
    if (found.length === 0) await query(`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`);
  }

  private apply(query: Query, migrationsList: MigrationList): Promise<string[]> {
    const input = { migrationsList, filters: NO_FILTERS };
    return withSchemaEngine(this.database, async (engine) => {
      const history = await engine.diagnoseMigrationHistory({ ...input, optInToShadowDatabase: false });
      const edited = history.editedMigrationNames.join(', ');
      if (edited !== '') {
        throw new MigrationError(
          'edited',
          `${this.place} was migrated with other files than this build's: ${edited} differ from what was applied. ` +
            'Restore them as they were; a change belongs in a migration of its own',
        );
      }
      try {
        return (await engine.applyMigrations(input)).appliedMigrationNames;
      } catch (cause) {
        const { failed } = await readMigrationStatus(query, this.schema, migrationsList);
        if (failed.length === 0) throw cause;
        const failure = `migration ${failed.join(', ')} of ${this.place} failed: ${reasonOf(cause)}`;
        throw new MigrationError('failed', `${failure}. To try again, ${resolution(failed)}`, { cause });
      }
    });
  }

  private connected<T>(work: (query: Query, client: pg.Client) => Promise<T>): Promise<T> {
    return refusable(withConnection(this.database, work), this.place);
  }
}

/** A failure that is no MigrationError yet is a refusal of the server's. */
async function refusable<T>(work: Promise<T>, place: string): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof MigrationError) throw cause;
    throw new MigrationError('refused', `${place}: ${rootReason(cause)}`, { cause });
  }
}

/** Rejects with a MigrationError unless the database can be reached and has the tables that this build needs. */
export async function assertDatabaseReady(database: Database, options: DatabaseOptions): Promise<void> {
  // On a connection of its own, which is closed after the check.
  if (hasUrl(options)) {
    const { url, password, schema } = options;
    return new Migrator({ url, password, schema }).assertCurrent(PLANTS_RIGHTS);
  }
  const migrations = await readMigrations(MIGRATIONS_FOLDER);
  const { schema, query } = database;
  const location = { schema, place: `schema ${schema} of database ${await nameOf(database)}` };
  const checked = assertTables(query, location, migrations, PLANTS_RIGHTS)
    .then(() => inspectTables(query, location))
    .then(() => assertNodes(query, location));
  await refusable(checked, location.place);
}

/** Where the tables are distributed, the other nodes matter too. */
async function assertNodes(query: Query, { schema, place }: { schema: string; place: string }): Promise<void> {
  for (const warning of await new Citus(query, schema).inspect())
    new Logger(Migrator.name).warn(`${place}: ${warning}`);
}

async function nameOf({ query }: Database): Promise<string> {
  try {
    const [row] = await query<{ name: string }>('SELECT current_database()::text AS name');
    return row?.name ?? '';
  } catch (cause) {
    const message = `cannot connect to the database that PlantsModule borrows from the host: ${rootReason(cause)}`;
    throw new MigrationError('unreachable', message, { cause });
  }
}

/** The reason that the server or the network gave, below the errors of ours and of Prisma. */
function rootReason(error: unknown): string {
  const { cause } = Object(error) as { cause?: { originalMessage?: string } };
  if (cause?.originalMessage !== undefined) return reasonOf(new Error(cause.originalMessage));
  return cause instanceof Error ? rootReason(cause) : reasonOf(error);
}
