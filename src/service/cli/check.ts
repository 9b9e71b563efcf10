import { Logger } from '@nestjs/common';
import { inspectTokenTable } from '../../auth/token-store.js';
import { withoutTokens } from '../../auth/token-format.js';
import { logWarnings, parseDatabaseUrl, withConnection } from '../../database/database-url.js';
import { MigrationError, sqlStateOf } from '../../database/database.errors.js';
import { assertMigrated, assertSearchPath, PLANTS_RIGHTS } from '../../database/table-checks.js';
import { assertDurableShards } from '../../plants/sharded-writer.js';
import { escapeControlsInLines, reasonOf } from '../../util/text.js';
import { connectionLimit } from '../bootstrap.js';
import { ConfigurationError, type Environment, readEnvironment } from '../environment.js';
import { LOCAL_DIRECTORY, readLocalToken } from './local-folder.js';
import { adviseOnConnection } from './output.js';
import { assertInstalled, hintAtFirstToken, isTokenless } from './serve.js';
import { STATEMENT_TIMEOUT_MS } from './token.commands.js';

/** SQLSTATEs of a server that refuses what is configured: the role, its password, the database, a right. */
const LASTING = /^(?:28|3D|42)/;

/**
 * `plant-store serve --check`: says all that a start would refuse or warn of, but for ports and the lock of the folder. It changes nothing,
 * and starts no server. @throws ConfigurationError with all faults, those of the database too; they may pass if all of them may
 */
export async function check(): Promise<void> {
  const { environment, faults: ofVariables } = readEnvironment(process.env);
  const faults: unknown[] = [];
  const collect = (error: unknown): void => void faults.push(error);
  const warn = (text: string): void => {
    console.log(`Warning: ${escapeControlsInLines(withoutTokens(text))}`);
  };
  // What is a line of the log at a start.
  Logger.overrideLogger({ log: () => undefined, error: warn, warn });

  if (ofVariables.length > 0) collect(new ConfigurationError(ofVariables));
  const { warning } = connectionLimit(environment);
  if (warning !== undefined) warn(warning);
  try {
    assertInstalled(environment);
  } catch (error) {
    collect(error);
  }
  const isEmbedded = environment.DATABASE_URL === undefined;
  if (isEmbedded && isTokenless(environment) && environment.NODE_ENV !== 'production')
    await readLocalToken().catch(collect);
  if (!isEmbedded && !ofVariables.some((fault) => fault.startsWith('DATABASE_')))
    await inspectDatabase(environment, collect).catch((error: unknown) => {
      collect(adviseOnConnection(error));
    });

  if (faults.length > 0) throw new ConfigurationError(faults.flatMap(linesOf), faults.every(mayPass));
  const database = isEmbedded ? `a PostgreSQL of its own, with its data in ${LOCAL_DIRECTORY}` : 'this database';
  console.log(`The service can start, with ${database}.`);
}

/** What the start asks of the database, on a connection that ends if it does not answer. */
async function inspectDatabase(environment: Environment, collect: (error: unknown) => void): Promise<void> {
  const database = parseDatabaseUrl(String(environment.DATABASE_URL), environment.DATABASE_PASSWORD);
  logWarnings(database);
  let isUsable = true;
  const collectRefusal = (error: unknown): void => {
    if (!(error instanceof MigrationError)) throw error;
    isUsable = false;
    collect(error);
  };
  await withConnection(
    database,
    async (query) => {
      // First of all: a function of another role could answer the rest.
      await assertSearchPath(query, database);
      await assertMigrated(query, database, PLANTS_RIGHTS).catch(collectRefusal);
      await assertDurableShards(query, database.schema).catch(collectRefusal);
      await inspectTokenTable(query, database.schema);
      if (isUsable && isTokenless(environment))
        await hintAtFirstToken(query, database.schema, new Logger('PlantStore'));
    },
    { timeout: STATEMENT_TIMEOUT_MS },
  );
}

function linesOf(fault: unknown): readonly string[] {
  return fault instanceof ConfigurationError ? fault.faults : [reasonOf(fault)];
}

/** What a check has found stays as it is. What kept it from looking may pass, unless the server has refused what is configured. */
function mayPass(fault: unknown): boolean {
  if (fault instanceof ConfigurationError) return fault.mayPass;
  return fault instanceof Error && fault.cause !== undefined && !LASTING.test(sqlStateOf(fault) ?? '');
}
