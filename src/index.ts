/** The store for applications of Nest: `PlantsModule`, bearer tokens, migrations and errors. */
export { PlantsAuthModule } from './auth/auth.module.js';
export type { PlantsAuthModuleOptions } from './auth/auth.options.js';
export { BearerAuthGuard } from './auth/bearer-auth.guard.js';
export { RequireScopes } from './auth/scopes.js';
export { type Principal, TokenVerifier } from './auth/token-verifier.js';
export type { DatabaseOptions } from './database/database.options.js';
export type { HostTransaction } from './plants/host-transaction.js';
export { Migrator } from './database/migrator.js';
export { MigrationError } from './database/database.errors.js';
export { ApiExceptionFilter } from './http/api-exception.filter.js';
export { ApiError } from './errors/api-error.js';
export { NewPlant, Plant } from './plants/plant.dto.js';
export { PlantsHealth } from './plants/plants.health.js';
export type { PlantsModuleOptions } from './plants/plants.options.js';
export { PlantsModule } from './plants/plants.module.js';
export { type CreatePlantOptions, PlantsService } from './plants/plants.service.js';
