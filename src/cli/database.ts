import { constants } from 'node:os';
import type pg from 'pg';
import { ConfigurationError } from '../app/config-error.js';
import { loadEnvironment } from '../app/config.js';
import { TokenAdministration } from '../auth/tokens/token-admin.js';
import { type DatabaseUrl, parseDatabaseUrl } from '../database/database-url.js';
import type { Query } from '../database/database.js';
import { schemaFault } from '../database/database.options.js';
import { withConnection } from '../database/migrations/connection.js';
import { assertMigrated, MigrationError } from '../database/migrations/migration-status.js';
import type { Rights } from '../database/rights.js';
import { reasonOf } from '../util/text.js';
import { useLocalDatabase } from './local-database.js';
import { isExplained } from './output.js';

/** For each statement: the tables may be locked, or the server may have stopped answering. */
const STATEMENT_TIMEOUT_MS = 10_000;

export interface DatabaseAddress {
  readonly url: string;
  readonly password?: string | undefined;
  readonly schema?: string | undefined;
  /** Ends the connection, even while a statement runs. */
  readonly signal?: AbortSignal;
  /** Milliseconds that a statement may take; with 0 any time. */
  readonly timeout?: number | undefined;
}

export interface OpenDatabase {
  readonly client: pg.Client;
  readonly query: Query;
  readonly database: DatabaseUrl;
  /** Rejects with a MigrationError unless the schema has the tables of this build, and the role has these rights. */
  readonly assertMigrated: (rights?: Rights) => Promise<void>;
}

type Work<T> = (open: OpenDatabase) => Promise<T>;

/** Runs `work` on a connection to the database of the service that the environment configures: the embedded one if it names none. */
export async function withServiceDatabase<T>(schema: string | undefined, work: Work<T>, timeout?: number): Promise<T> {
  const { databaseUrl, databasePassword: password } = loadEnvironment(process.env);
  const fault = schemaFault(schema);
  if (fault !== undefined) throw new ConfigurationError([`--schema: ${fault}`]);
  if (databaseUrl !== undefined) return withDatabase({ url: databaseUrl, password, schema, timeout }, work);
  const local = await useLocalDatabase();
  // What takes long may be interrupted, and must not leave a server behind.
  const end = (signal: NodeJS.Signals): void => {
    void local.stop().finally(() => process.exit(128 + constants.signals[signal]));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
  return withDatabase({ url: local.url, schema, timeout }, work).finally(() => local.stop());
}

/** Work on the access tokens of a database that has the tables of this build. */
export function onTokens<T>(work: (tokens: TokenAdministration) => Promise<T>): Work<T> {
  return async ({ client, database, assertMigrated }) => {
    await assertMigrated();
    return work(new TokenAdministration(client, database.schema));
  };
}

/** Runs `work` on a connection to a database. @throws MigrationError if it can't be reached, or refuses a statement */
export async function withDatabase<T>(address: DatabaseAddress, work: Work<T>): Promise<T> {
  const { url, password, schema, signal, timeout = STATEMENT_TIMEOUT_MS } = address;
  const database = parseDatabaseUrl(url, password, schema);
  const connected = async (query: Query, client: pg.Client): Promise<T> => {
    try {
      return await work({
        client,
        query,
        database,
        assertMigrated: (rights) => assertMigrated(query, database, rights),
      });
    } catch (error) {
      if (isExplained(error)) throw error;
      throw new MigrationError('refused', `${database.place}: ${reasonOf(error)}`, { cause: error });
    }
  };
  return withConnection(database, connected, { timeout, signal });
}
