export { AuthModule } from './auth/auth.module.js';
export { AuthModuleOptionsError } from './auth/auth-module-options.error.js';
export type { AuthModuleOptions } from './auth/auth-module.options.js';
export { BearerAuthGuard } from './auth/bearer-auth.guard.js';
export type { JwtOptions } from './auth/jwt/jwt-options.js';
export type { IssuedTokensOptions } from './auth/tokens/issued-tokens-options.js';
export type { Principal } from './auth/principal.js';
export { TokenVerifier } from './auth/token-verifier.js';
export type {
  AdapterDatabaseOptions,
  DatabaseOptions,
  PoolDatabaseOptions,
  UrlDatabaseOptions,
} from './database/database-options.js';
export type { LendingPool, LentConnection } from './database/lending-pool.js';
export { Migrator } from './database/migrator.js';
export type { MigratorOptions } from './database/migrator-options.js';
export { MigratorOptionsError } from './database/migrator-options.error.js';
export type { MigrationStatus } from './database/migration-status.js';
export { MigrationError, type MigrationErrorCode } from './database/migration.error.js';
export { ApiExceptionFilter } from './errors/api-exception.filter.js';
export { ApiError, type ApiErrorOptions } from './errors/api.error.js';
export { ErrorBody } from './errors/error-body.dto.js';
export { ERROR_CATALOGUE, type ErrorNumber } from './errors/error-catalogue.js';
export type { ErrorStatus } from './errors/error-status.js';
export { exemptPlantsFromBodyParser } from './http/body-parser-exemption.js';
export type { CreatedPlant } from './plants/created-plant.js';
export type { Creator } from './plants/creator.js';
export { NewPlant } from './plants/dto/new-plant.dto.js';
export { Plant } from './plants/dto/plant.dto.js';
export { PlantsHealth } from './plants/plants-health.js';
export { PlantsModuleOptionsError } from './plants/plants-module-options.error.js';
export type { PlantsModuleExtras, PlantsOpenApiOptions } from './plants/plants-module.extras.js';
export type { PlantsModuleOptions } from './plants/plants-module.options.js';
export { PlantsModule } from './plants/plants.module.js';
export { PlantsService } from './plants/plants.service.js';
export { PlantsStatistics } from './plants/plants-statistics.js';
