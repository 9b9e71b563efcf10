export { configureApi } from './configure-api.js';
export { JwtAuthGuard } from './jwt-auth.guard.js';
export { JwtAuthModule } from './jwt-auth.module.js';
export { ProblemFilter } from './problem.filter.js';
export { requiredVariable } from './required-variable.js';
export { UserName } from './user-name.decorator.js';
