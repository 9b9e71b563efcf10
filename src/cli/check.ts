import { Logger } from '@nestjs/common';
import { withoutTokens } from '../auth/token-format.js';
import { inspectTokenTable } from '../auth/token-store.js';
import { logWarnings } from '../database/database-url.js';
import { MigrationError, sqlStateOf } from '../database/database.errors.js';
import { assertMigrated } from '../database/migration-status.js';
import { assertSearchPath, PLANTS_RIGHTS } from '../database/table-checks.js';
import { assertDurableShards } from '../plants/sharded-writer.js';
import { connectionLimit } from '../service/bootstrap.js';
import { ConfigurationError, readEnvironment } from '../service/environment.js';
import { escapeControlsInLines, reasonOf } from '../util/text.js';
import { adviseOnConnection, withDatabase } from './database.js';
import { inspectLocalToken, LOCAL_DIRECTORY } from './local-database.js';
import { assertInstalled } from './prerequisites.js';
import { hintAtFirstToken, isTokenless } from './serve.js';

/** SQLSTATEs of a server that refuses what is configured: the role, its password, the database, a right. */
const LASTING = /^(?:28|3D|42)/;

/**
 * `plant-store serve --check`: says all that a start would refuse or warn of, but for ports and the lock of the folder. It changes nothing,
 * and starts no server. @throws ConfigurationError with all faults, those of the database too; they may pass if all of them may
 */
export async function check(): Promise<void> {
  const { environment, faults: ofVariables } = readEnvironment(process.env);
  const { DATABASE_URL: url, DATABASE_PASSWORD: password } = environment;
  const faults: unknown[] = [];
  const attempt = async (work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (error) {
      faults.push(error);
    }
  };
  const warn = (text: string): void => {
    console.log(`Warning: ${escapeControlsInLines(withoutTokens(text))}`);
  };
  // What is a line of the log at a start.
  Logger.overrideLogger({ log: () => undefined, error: warn, warn });

  // Not read again: a secret in a pipe can be read once.
  if (ofVariables.length > 0) faults.push(new ConfigurationError(ofVariables));
  const { warning } = connectionLimit(environment);
  if (warning !== undefined) warn(warning);
  await attempt(() => {
    assertInstalled(environment);
  });
  const isKnown = !ofVariables.some((fault) => fault.startsWith('DATABASE_'));
  if (url === undefined && isTokenless(environment) && environment.NODE_ENV !== 'production')
    await attempt(inspectLocalToken);
  if (url !== undefined && isKnown)
    await attempt(async () => {
      await inspectDatabase({ url, password }, faults);
      if (isTokenless(environment)) await hintAtFirstToken({ url, password }, new Logger('PlantStore'));
    });

  if (faults.length > 0) throw new ConfigurationError(faults.flatMap(linesOf), faults.every(mayPass));
  const database = url === undefined ? `a PostgreSQL of its own, with its data in ${LOCAL_DIRECTORY}` : 'this database';
  console.log(`The service can start, with ${database}.`);
}

/** What the start asks of the database, on a connection that ends if it does not answer. Adds what is wrong to the faults. */
async function inspectDatabase(
  address: { url: string; password: string | undefined },
  faults: unknown[],
): Promise<void> {
  await withDatabase(address, async ({ query, database }) => {
    logWarnings(database);
    // First of all: a function of another role could answer the rest.
    await assertSearchPath(query, database);
    const collect = (error: unknown): void => {
      if (!(error instanceof MigrationError)) throw error;
      faults.push(error);
    };
    await assertMigrated(query, database, PLANTS_RIGHTS).catch(collect);
    await assertDurableShards(query, database.schema).catch(collect);
    await inspectTokenTable(query, database.schema);
  }).catch((error: unknown) => {
    throw adviseOnConnection(error);
  });
}

function linesOf(fault: unknown): readonly string[] {
  return fault instanceof ConfigurationError ? fault.faults : [reasonOf(fault)];
}

/** What a check has found stays as it is. What kept it from looking may pass, unless the server has refused what is configured. */
function mayPass(fault: unknown): boolean {
  if (fault instanceof ConfigurationError) return fault.mayPass;
  return fault instanceof Error && fault.cause !== undefined && !LASTING.test(sqlStateOf(fault) ?? '');
}
