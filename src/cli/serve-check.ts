import { Logger } from '@nestjs/common';
import { warnIfNoToken, warnIfTokensUnusable } from '../auth/token-lookup.js';
import { type Query, withConnection } from '../prisma/connection.js';
import { logWarnings, parseDatabaseUrl } from '../prisma/database-url.js';
import { isConfigurationRefused, MigrationError } from '../prisma/database.errors.js';
import { assertMigrated, assertSearchPath } from '../prisma/table-checks.js';
import { findCitusShards } from '../plants/citus-table.js';
import { assertInstalled } from '../config/package-files.js';
import { adviceOn } from '../server/process.js';
import { escapeLines, reasonOf } from '../util/text.js';
import { findPostgresPackage } from '../embedded-postgres/binaries.js';
import { LOCAL_DIRECTORY } from '../embedded-postgres/embedded-postgres.js';
import { ConfigurationError, readConfiguration } from '../config/configuration.js';
import { type Environment, hasNoConfiguredToken } from '../config/environment.js';

/**
 * `plant-store serve --check`: reports all that a start would refuse or warn of, but not ports or a server in the
 * folder. It changes nothing and starts no server.
 * @throws ConfigurationError with all faults. It may pass if all of them may
 */
export async function checkStart(): Promise<void> {
  const { environment, faults } = await readConfiguration();
  const found: unknown[] = faults.length > 0 ? [new ConfigurationError(faults)] : [];
  const collect = (fault: unknown): number => found.push(fault);
  const warn = (text: string): void => {
    console.log(`Warning: ${escapeLines(text)}`);
  };
  // A warning of the log becomes a line of the output.
  Logger.overrideLogger({ log: () => undefined, error: warn, warn });
  const isEmbedded = environment.DATABASE_URL === undefined;
  try {
    assertInstalled();
    if (isEmbedded) findPostgresPackage();
  } catch (fault) {
    collect(fault);
  }
  if (!isEmbedded && !faults.some((fault) => fault.startsWith('DATABASE_')))
    await inspectDatabase(environment, collect).catch(collect);

  const lines = found.flatMap((fault) =>
    fault instanceof ConfigurationError ? fault.faults : `${reasonOf(fault)}${adviceOn(fault)}`,
  );
  if (lines.length > 0) throw new ConfigurationError(lines, found.every(mayPass));
  const database = isEmbedded ? `a PostgreSQL of its own, with its data in ${LOCAL_DIRECTORY}` : 'this database';
  console.log(`The service can start, with ${database}.`);
}

/** Checks the database as a start does. The connection ends if the database does not answer. */
async function inspectDatabase(environment: Environment, collect: (fault: unknown) => void): Promise<void> {
  const database = parseDatabaseUrl(String(environment.DATABASE_URL), environment.DATABASE_PASSWORD);
  logWarnings(database);
  const ask = async (query: Query): Promise<void> => {
    // This comes first: a function of another role could answer the other checks.
    await assertSearchPath(query, database);
    await assertMigrated(query, database).catch(collectRefusal);
    await findCitusShards(query, database.schema).catch(collectRefusal);
    await warnIfTokensUnusable(query, database.schema);
    if (hasNoConfiguredToken(environment)) await warnIfNoToken(query, database.schema);
  };
  const collectRefusal = (fault: unknown): void => {
    if (!(fault instanceof MigrationError)) throw fault;
    collect(fault);
  };
  await withConnection(database, ask);
}

/** A fault that a check found stays. A failed connection may pass, unless the server refused the configuration. */
function mayPass(fault: unknown): boolean {
  if (fault instanceof ConfigurationError) return fault.mayPass;
  return fault instanceof Error && fault.cause !== undefined && !isConfigurationRefused(fault);
}
