import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

import { parseDatabaseUrl, type DatabaseUrl } from '../database-url.js';
import { assertNoForeignTables } from './schema-check.js';
import { withConnection } from './connection.js';
import { readMigrations } from '../migration-files.js';
import { MIGRATIONS_FOLDER } from '../../util/package-files.js';
import { assertHistoryUsable, resolution } from './migration-status.js';
import { acquireMigrationLock } from '../migration-lock.js';
import { type MigrationStatus, type Query, type QueryValue, readMigrationStatus } from '../migration-status.js';
import { MigrationError } from '../migration.error.js';
import { checkMigratorOptions, type MigratorOptions } from './migrator.options.js';
import { reasonOf } from '../../util/text.js';
import { withSchemaEngine } from './schema-engine.js';
import { assertTables } from '../tables-check.js';

const DEFAULT_TIMEOUT = 60_000;
const NO_FILTERS = { externalTables: [], externalEnums: [] };

/** Brings a database to the tables that this build needs, and tells whether it is there. Fails with a MigrationError. */
export class Migrator {
  private readonly database: DatabaseUrl;
  private readonly timeout: number;
  private readonly folder: string;

  /** Connects to nothing yet. Throws a MigratorOptionsError where the options can't be used. */
  constructor(options: MigratorOptions) {
    const { url, password, schema, timeout, folder } = checkMigratorOptions(options);
    this.database = parseDatabaseUrl(url, password, schema);
    this.timeout = timeout ?? DEFAULT_TIMEOUT;
    this.folder = folder ?? MIGRATIONS_FOLDER;
  }

  /** Applies what is pending, one process at a time, and returns the names of what this call applied. */
  async migrate(): Promise<string[]> {
    const migrations = await readMigrations(this.folder);
    return this.connected(async (client) => {
      await acquireMigrationLock(client, this.schema, this.timeout);
      await this.createSchema(client);
      assertHistoryUsable(await this.readStatus(client, migrations), this.place);
      await assertNoForeignTables(queryOf(client), this);
      return this.apply(client, migrations);
    });
  }

  /** Compares the database with this build. */
  async status(): Promise<MigrationStatus> {
    const migrations = await readMigrations(this.folder);
    return this.connected((client) => this.readStatus(client, migrations));
  }

  /** Throws unless the database has the migrations of this build, finished, and no others. */
  async assertCurrent(): Promise<void> {
    const migrations = await readMigrations(this.folder);
    await this.connected((client) => assertTables(queryOf(client), this, migrations));
  }

  /** The schema that holds, or shall hold, the tables. */
  get schema(): string {
    return this.database.schema;
  }

  /** Which schema of which database this is, safe to print. */
  get place(): string {
    return `schema ${this.schema} of database ${this.database.description}`;
  }

  private readStatus(client: pg.Client, { migrationDirectories }: MigrationList): Promise<MigrationStatus> {
    const known = migrationDirectories.map(({ path }) => path);
    return readMigrationStatus(queryOf(client), this.schema, known);
  }

  private async createSchema(client: pg.Client): Promise<void> {
    const { schema } = this;
    const { rowCount } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
    // IF NOT EXISTS alone would ask for the privilege to create even where there is nothing to create.
    if (rowCount === 0) await client.query(`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`);
  }

  private apply(client: pg.Client, migrationsList: MigrationList): Promise<string[]> {
    const input = { migrationsList, filters: NO_FILTERS };
    return withSchemaEngine(this.database, async (engine) => {
      const { editedMigrationNames: edited } = await engine.diagnoseMigrationHistory({
        ...input,
        optInToShadowDatabase: false,
      });
      if (edited.length > 0) throw this.editedError(edited);
      try {
        const { appliedMigrationNames } = await engine.applyMigrations(input);
        return appliedMigrationNames;
      } catch (error) {
        const { failed } = await this.readStatus(client, migrationsList);
        throw failed.length > 0 ? this.failedError(failed, error) : error;
      }
    });
  }

  private editedError(edited: string[]): MigrationError {
    return new MigrationError(
      'edited',
      `${this.place} was migrated with other files than this build's: ${edited.join(', ')} differ from what was applied. ` +
        'Restore them as they were; a change belongs in a migration of its own',
    );
  }

  private failedError(failed: readonly string[], cause: unknown): MigrationError {
    return new MigrationError(
      'failed',
      `migration ${failed.join(', ')} of ${this.place} failed: ${reasonOf(cause)}. To try again, ${resolution(failed)}`,
      { cause },
    );
  }

  private async connected<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    try {
      return await withConnection(this.database, work);
    } catch (error) {
      if (error instanceof MigrationError) throw error;
      throw new MigrationError('refused', `${this.place}: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function queryOf(client: pg.Client): Query {
  return async <Row>(sql: string, values?: QueryValue[]) => (await client.query(sql, values)).rows as Row[];
}
