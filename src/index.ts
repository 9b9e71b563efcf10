/** The store for applications of Nest: `PlantsModule`, bearer tokens, migrations and errors. @module plant-store */
import './util/peers.cjs';
export { AuthModule } from './auth/auth.module.js';
export { AuthModuleOptionsError } from './auth/auth.options.js';
export type { AuthModuleOptions, IssuedTokensOptions, JwtOptions } from './auth/auth.options.js';
export { BearerAuthGuard, RequireScopes } from './auth/bearer-auth.guard.js';
export { type Principal, TokenVerifier } from './auth/token-verifier.js';
export type {
  DatabaseOptions,
  PgClientLike,
  PgPoolLike,
  PoolDatabaseOptions,
  UrlDatabaseOptions,
} from './database/database.options.js';
export type { HostTransaction } from './database/host-transaction.js';
export { Migrator } from './database/migrations/migrator.js';
export { type MigratorOptions, MigratorOptionsError } from './database/migrations/migrator.options.js';
export type { MigrationStatus } from './database/migrations/migration-status.js';
export { MigrationError, type MigrationErrorCode } from './database/migrations/migration-status.js';
export { ApiExceptionFilter } from './http/api-exception.filter.js';
export { ApiError, type ApiErrorOptions, ErrorBody } from './errors/api-error.js';
export { ERROR_CATALOGUE, type ErrorNumber, type ErrorStatus } from './errors/error-catalogue.js';
export { exemptPlantsFromBodyParser } from './http/body-parser-exemption.js';
export type { CreatedPlant, Creator } from './plants/plants.options.js';
export { NewPlant, Plant } from './plants/new-plant.js';
export { PlantsHealth } from './plants/plants-health.js';
export { PlantsModuleOptionsError } from './plants/plants.options.js';
export type {
  PlantsGuards,
  PlantsModuleExtras,
  PlantsModuleOptions,
  PlantsOpenApiOptions,
} from './plants/plants.options.js';
export { PlantsModule } from './plants/plants.module.js';
export { type CreatePlantOptions, PlantsService } from './plants/plants.service.js';
export { PlantsStatistics } from './plants/plants-statistics.js';
