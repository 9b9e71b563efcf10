import type { DatabaseOptions } from '../database/database-options.js';
import type { ErrorStatus } from '../errors/error-status.js';

export interface PlantsModuleOptions {
  /** Where plants are stored: exactly one of `url`, `pool` and `adapter`. */
  database: DatabaseOptions;
  /** Bytes that a decoded request body may have; 1 MiB unless given. */
  bodyLimit?: number | undefined;
  /** Creates that may wait for the database at a time, before more are refused with 50301; 10000 unless given. */
  writeQueueLimit?: number | undefined;
  /** Status of failures; `contract` unless given. */
  errorStatus?: ErrorStatus | undefined;
}
