import type { ConnectionPoolOptions } from '../database/connection-pool.js';
import type { ErrorStatus } from '../errors/error-status.js';

export interface PlantsModuleOptions {
  /** Where plants are stored. */
  database: ConnectionPoolOptions;
  /** Bytes that a decoded request body may have; 1 MiB unless given. */
  bodyLimit?: number;
  /** Status of failures; `contract` unless given. */
  errorStatus?: ErrorStatus;
}
