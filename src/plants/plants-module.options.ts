import type { DatabaseOptions } from '../database/database-options.js';
import type { ErrorStatus } from '../errors/error-status.js';
import type { CreatedPlant } from './created-plant.js';
import type { Creator } from './creator.js';

/** What a store may be told when the application starts. */
export interface PlantsModuleOptions {
  /** Where plants are stored: exactly one of `url`, `pool` and `adapter`. */
  database: DatabaseOptions;
  /** Bytes that a decoded request body may have; 1 MiB unless given. */
  bodyLimit?: number | undefined;
  /** Creates that may wait for the database at a time, before more are refused with 50301; 10000 unless given. */
  writeQueueLimit?: number | undefined;
  /** Status of failures; `contract` unless given. */
  errorStatus?: ErrorStatus | undefined;
  /**
   * Who creates a plant with this request of the platform, if that is known; whom `BearerAuthGuard` let pass unless given. For
   * applications that guard the route in another way.
   */
  createdBy?: ((request: never) => Creator | undefined) | undefined;
  /** Told of each plant that was created, once, when it is on disk. The answer does not wait for what it does. */
  onCreated?: ((plant: CreatedPlant) => void) | undefined;
}
