export { configureApi, requiredVariable } from './configure-api.js';
export { JwtAuthGuard, JwtAuthModule, UserName } from './jwt-auth.js';
