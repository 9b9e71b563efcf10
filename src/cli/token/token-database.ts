import { ConfigurationError } from '../../app/config-error.js';
import { loadEnvironment } from '../../app/config.js';
import { TokenAdministrationError } from '../../auth/tokens/token-admin-sql.js';
import { TokenAdministration } from '../../auth/tokens/token-admin.js';
import { parseDatabaseUrl } from '../../database/database-url.js';
import { schemaFaults } from '../../database/database.options.js';
import { withConnection } from '../../database/migrations/connection.js';
import { assertTables, MigrationError } from '../../database/migrations/migration-status.js';
import { readMigrations } from '../../database/migrations/schema-engine.js';
import { MIGRATIONS_FOLDER } from '../../util/package-files.cjs';
import { reasonOf } from '../../util/text.js';
import { useLocalDatabase } from '../local.js';

/** For each statement: the tables may be locked, or the server may have stopped answering. */
const STATEMENT_TIMEOUT_MS = 10_000;

type Work<T> = (tokens: TokenAdministration) => Promise<T>;

interface TokenDatabase {
  readonly url: string;
  readonly password?: string | undefined;
  readonly schema?: string | undefined;
  /** Ends the connection, even while a statement runs. */
  readonly signal?: AbortSignal;
}

/** Works on the tokens of the service that the environment configures. */
export async function withTokens<T>(schema: string | undefined, work: Work<T>): Promise<T> {
  const { databaseUrl, databasePassword: password } = loadEnvironment(process.env);
  const faults = schemaFaults('--schema', schema);
  if (faults.length > 0) throw new ConfigurationError(faults);
  if (databaseUrl !== undefined) return withTokensOf({ url: databaseUrl, password, schema }, work);
  const { url, stop } = await useLocalDatabase();
  try {
    return await withTokensOf({ url, schema }, work);
  } finally {
    await stop();
  }
}

/** Works on the tokens in a database. @throws MigrationError if it can't be reached, or lacks the tables or a privilege */
export async function withTokensOf<T>({ url, password, schema, signal }: TokenDatabase, work: Work<T>): Promise<T> {
  const database = parseDatabaseUrl(url, password, schema);
  const place = `schema ${database.schema} of database ${database.description}`;
  const migrations = await readMigrations(MIGRATIONS_FOLDER);
  return withConnection(
    database,
    async (client) => {
      const query = async <Row>(sql: string, values?: unknown[]): Promise<Row[]> =>
        (await client.query(sql, values)).rows as Row[];
      try {
        await assertTables(query, { schema: database.schema, place }, migrations);
        return await work(new TokenAdministration(client, database.schema));
      } catch (error) {
        if (error instanceof MigrationError || error instanceof TokenAdministrationError) throw error;
        throw new MigrationError('refused', `${place}: ${reasonOf(error)}`, { cause: error });
      }
    },
    { timeout: STATEMENT_TIMEOUT_MS, signal },
  );
}
