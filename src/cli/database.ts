import type pg from 'pg';
import { TokensService } from '../auth/tokens.service.js';
import { type Limits, withConnection } from '../database/connection.js';
import { type DatabaseUrl, parseDatabaseUrl } from '../database/database-url.js';
import { MigrationError, sqlStateOf } from '../database/database.errors.js';
import type { Query } from '../database/database.js';
import { schemaFault } from '../database/database.options.js';
import { assertMigrated } from '../database/migration-status.js';
import { UrlDatabase } from '../database/url-database.js';
import { ConfigurationError, loadEnvironment } from '../service/environment.js';
import { useLocalDatabase } from './local-database.js';
import { endBySignal } from './output.js';

/** For each statement: the tables may be locked, or the server may have stopped answering. */
const STATEMENT_TIMEOUT_MS = 10_000;

export interface DatabaseAddress extends Pick<Limits, 'signal'> {
  readonly url: string;
  readonly password?: string | undefined;
  readonly schema?: string | undefined;
}

/** Adds to a failure what to correct if no connection to the database can be made. */
export function adviseOnConnection(error: unknown): unknown {
  if (!(error instanceof MigrationError) || error.code !== 'unreachable') return error;
  return new MigrationError(error.code, `${error.message}. ${connectionAdvice(sqlStateOf(error))}`, { cause: error });
}

/** @param sqlState of the server's answer, if it has answered */
function connectionAdvice(sqlState = ''): string {
  if (sqlState === '3D000') return 'Create the database, or correct its name in DATABASE_URL.';
  if (sqlState.startsWith('28'))
    return 'Correct the user in DATABASE_URL, or the password there or in DATABASE_PASSWORD.';
  if (sqlState !== '') return 'The server has answered, and says what is wrong.';
  return 'Start PostgreSQL, or correct host, port and TLS in DATABASE_URL.';
}

type OpenDatabase = Readonly<{ client: pg.Client; query: Query; database: DatabaseUrl; address: DatabaseAddress }>;

type Work<T> = (open: OpenDatabase) => Promise<T>;

/** Runs `work` on a connection to the database of the service that the environment configures: the embedded one if it names none. */
export async function withServiceDatabase<T>(schema: string | undefined, work: Work<T>): Promise<T> {
  const { DATABASE_URL: databaseUrl, DATABASE_PASSWORD: password } = loadEnvironment(process.env);
  const fault = schemaFault(schema);
  if (fault !== undefined) throw new ConfigurationError([`--schema: ${fault}`]);
  if (databaseUrl !== undefined) return withDatabase({ url: databaseUrl, password, schema }, work);
  const local = await useLocalDatabase();
  // What takes long may be interrupted, and must not leave a server behind.
  endBySignal(() => local.stop());
  return withDatabase({ url: local.url, schema }, work).finally(() => local.stop());
}

/** Work on the access tokens of a database that has the tables of this build. */
export function onTokens<T>(work: (tokens: TokensService) => Promise<T>): Work<T> {
  return async ({ query, database, address: { url, password, schema } }) => {
    await assertMigrated(query, database);
    const own = new UrlDatabase({ url, password, schema, size: 1, timeout: STATEMENT_TIMEOUT_MS });
    try {
      return await work(new TokensService(own));
    } finally {
      await own.onApplicationShutdown();
    }
  };
}

/** Runs `work` on a connection to a database. @throws MigrationError if it can't be reached, or refuses a statement */
export async function withDatabase<T>(address: DatabaseAddress, work: Work<T>): Promise<T> {
  const { url, password, schema, signal } = address;
  const database = parseDatabaseUrl(url, password, schema);
  return withConnection(database, (query, client) => work({ client, query, database, address }), {
    timeout: STATEMENT_TIMEOUT_MS,
    signal,
  });
}
