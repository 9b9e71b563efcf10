import { TokenAdministration } from '../../auth/tokens/token-admin.js';
import { TokenAdministrationError } from '../../auth/tokens/token-admin-sql.js';
import { ConfigurationError } from '../../app/config-error.js';
import { loadEnvironment } from '../../app/config.js';
import { parseDatabaseUrl } from '../../database/database-url.js';
import { withConnection } from '../../database/migrations/connection.js';
import { readMigrations } from '../../database/migrations/schema-engine.js';
import { MIGRATIONS_FOLDER } from '../../util/package-files.js';
import { MigrationError, assertTables } from '../../database/migrations/migration-status.js';
import { reasonOf } from '../../util/text.js';
import { schemaFaults } from '../../database/database.options.js';
import { LOCAL_DIRECTORY } from '../local-directory.js';

/** For each statement: the tables may be locked, or the server gone without a word. */
const TIMEOUT = 10_000;

type Work<T> = (tokens: TokenAdministration) => Promise<T>;

interface TokenDatabase {
  readonly url: string;
  readonly password?: string | undefined;
  readonly schema?: string | undefined;
  /** Gives the connection up, whatever is under way. */
  readonly signal?: AbortSignal;
}

/** Works on the tokens of the service that the environment configures. */
export async function withTokens<T>(schema: string | undefined, work: Work<T>): Promise<T> {
  const { databaseUrl, databasePassword: password } = loadEnvironment(process.env);
  const faults = schemaFaults('--schema', schema);
  if (faults.length > 0) throw new ConfigurationError(faults);
  if (databaseUrl !== undefined) return withTokensOf({ url: databaseUrl, password, schema }, work);
  // Loaded only here: in production there is no embedded server.
  const { useLocalDatabase } = await import('./usable-database.js');
  const { url, stop } = await useLocalDatabase(LOCAL_DIRECTORY);
  try {
    return await withTokensOf({ url, schema }, work);
  } finally {
    await stop();
  }
}

/** Rejects with a MigrationError where the database can't be reached, lacks the tables or a privilege. */
export async function withTokensOf<T>({ url, password, schema, signal }: TokenDatabase, work: Work<T>): Promise<T> {
  const database = parseDatabaseUrl(url, password, schema);
  const place = `schema ${database.schema} of database ${database.description}`;
  const migrations = await readMigrations(MIGRATIONS_FOLDER);
  return withConnection(
    database,
    async (client) => {
      try {
        await assertTables(
          async <Row>(sql: string, values?: unknown[]) => (await client.query(sql, values)).rows as Row[],
          { schema: database.schema, place },
          migrations,
        );
        return await work(new TokenAdministration(client, database.schema));
      } catch (error) {
        if (error instanceof MigrationError || error instanceof TokenAdministrationError) throw error;
        throw new MigrationError('refused', `${place}: ${reasonOf(error)}`, { cause: error });
      }
    },
    { timeout: TIMEOUT, signal },
  );
}
