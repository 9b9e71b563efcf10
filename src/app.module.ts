import { Module, ValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { PlantsAuthModule } from './auth/auth.module.js';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import { Environment } from './config/environment.js';
import { ServiceLogger } from './config/logger.js';
import { AllExceptionsFilter, ERROR_STATUS } from './http/api-exception.filter.js';
import { ManagementModule } from './management/management-server.js';
import { PlantsModule } from './plants/plants.module.js';
import { MethodNotAllowedModule } from './server/method-not-allowed.module.js';
import { SECURITY_SCHEME } from './server/openapi.js';

/** Without DATABASE_URL, the embedded server has put its own there. */
const databaseOf = (environment: Environment) => ({
  url: environment.DATABASE_URL ?? '',
  password: environment.DATABASE_PASSWORD,
  timeout: environment.STORAGE_TIMEOUT,
});

const auth = PlantsAuthModule.forRootAsync({
  inject: [Environment],
  useFactory: (environment: Environment) => {
    const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: jwksUrl, JWT_TYP: typ } = environment;
    return {
      accessTokens: environment.ACCESS_TOKENS.length > 0 ? environment.ACCESS_TOKENS : undefined,
      issuedTokens: databaseOf(environment),
      jwt: issuer === undefined ? undefined : { issuer, audience, jwksUrl, typ },
    };
  },
});

const plants = PlantsModule.forRootAsync({
  inject: [Environment],
  useFactory: (environment: Environment) => ({
    database: { ...databaseOf(environment), size: environment.DATABASE_POOL_SIZE },
    bodyLimit: environment.BODY_LIMIT,
    writeQueueLimit: environment.WRITE_QUEUE_LIMIT,
    errorStatus: environment.ERROR_STATUS,
  }),
  guards: 'global',
  securityScheme: SECURITY_SCHEME,
  schemaPrefix: '',
});

/** The service: the store, a guard for all routes, and a management listener. Add your own modules to `imports`. */
@Module({
  imports: [auth, plants, MethodNotAllowedModule, { module: ManagementModule, imports: [auth, plants] }],
  providers: [
    ServiceLogger,
    { provide: ERROR_STATUS, useFactory: ({ ERROR_STATUS: status }: Environment) => status, inject: [Environment] },
    { provide: APP_GUARD, useExisting: BearerAuthGuard },
    { provide: APP_FILTER, useClass: AllExceptionsFilter },
    { provide: APP_PIPE, useValue: new ValidationPipe({ transform: true }) },
  ],
})
export class AppModule {}
