import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import type { DatabaseOptions } from '../database/database-options.js';
import type { ErrorStatus } from '../errors/error-status.js';

export interface PlantsModuleOptions {
  /** Where plants are stored: exactly one of `url`, `pool` and `adapter`. */
  database: DatabaseOptions;
  /** Bytes that a decoded request body may have; 1 MiB unless given. */
  bodyLimit?: number | undefined;
  /** Status of failures; `contract` unless given. */
  errorStatus?: ErrorStatus | undefined;
}

/** What has to be known before the application starts, in `forRootAsync` too. */
export interface PlantsModuleExtras {
  /** Path of the route, below the application's global prefix; `plants` unless given. */
  path?: string;
  /** Guards of the route, besides the application's global ones; none unless given. */
  guards?: Type<CanActivate>[];
  /** Modules that export what these guards need. */
  imports?: NonNullable<ModuleMetadata['imports']>;
}
