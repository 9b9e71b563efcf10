import { TokenAdministrationError } from '../auth/tokens/token-admin-sql.js';
import { WorkerStartError } from '../cluster/worker-start.error.js';
import { ConfigurationError } from '../app/config-error.js';
import { EmbeddedPostgresError } from '../dev-postgres/errors.js';
import { MigrationError } from '../database/migrations/migration-status.js';
import { OutputError } from './output.error.js';

/** Their messages say all. */
const EXPLAINED = [ConfigurationError, EmbeddedPostgresError, MigrationError, TokenAdministrationError, OutputError];

/** What the console tells of a failure: the message alone where it says all, else the stack too. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // What the worker has told is what is told.
  if (error instanceof WorkerStartError) return error.message;
  const explained = EXPLAINED.some((known) => error instanceof known);
  return explained ? `plant-store: ${error.message}` : (error.stack ?? error.message);
}
