import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import { PlantsAuthModule } from './auth/auth.module.js';
import { IssuedTokenVerifier } from './auth/issued-token.verifier.js';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import { AllExceptionsFilter } from './http/api-exception.filter.js';
import { PlantsHealth } from './plants/plants.health.js';
import { PlantsMetrics } from './plants/plants.metrics.js';
import { StorePool } from './prisma/store-pool.js';
import { PlantsModule } from './plants/plants.module.js';
import type { Environment } from './config/environment.js';
import { NotFoundModule } from './server/not-found.module.js';
import { SECURITY_SCHEME } from './server/openapi.js';
import { ManagementServer } from './management/management-server.js';
import { Metrics } from './management/metrics.js';

/** The service. It is a host of the store with a guard for all routes, and has a management listener. */
@Module({})
export class AppModule {
  static forRoot(environment: Environment, metrics: Metrics): DynamicModule {
    const {
      ACCESS_TOKENS,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: audience,
      JWT_JWKS_URL: jwksUrl,
      JWT_TYP: typ,
    } = environment;
    const database = {
      // Without it, the embedded server has put its own here.
      url: environment.DATABASE_URL ?? '',
      password: environment.DATABASE_PASSWORD,
      timeout: environment.STORAGE_TIMEOUT,
    };
    const auth = PlantsAuthModule.forRoot({
      accessTokens: ACCESS_TOKENS.length > 0 ? ACCESS_TOKENS : undefined,
      issuedTokens: database,
      jwt: issuer === undefined ? undefined : { issuer, audience, jwksUrl, typ },
    });
    const path = `${environment.BASE_PATH}/plants`;
    const plants = PlantsModule.forRoot({
      path,
      database: { ...database, size: environment.DATABASE_POOL_SIZE },
      bodyLimit: environment.BODY_LIMIT,
      writeQueueLimit: environment.WRITE_QUEUE_LIMIT,
      errorStatus: environment.ERROR_STATUS,
      guards: 'global',
      securityScheme: SECURITY_SCHEME,
      schemaPrefix: '',
    });
    return {
      module: AppModule,
      imports: [auth, plants, NotFoundModule.forRoot(path)],
      providers: [
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useFactory: () => new AllExceptionsFilter(environment.ERROR_STATUS) },
        {
          provide: Metrics,
          useFactory: (...store: [PlantsMetrics, StorePool, IssuedTokenVerifier]) => metrics.attach(...store),
          inject: [PlantsMetrics, StorePool, IssuedTokenVerifier],
        },
        {
          provide: ManagementServer,
          useFactory: (...parts: [HttpAdapterHost, PlantsHealth, Metrics]) =>
            new ManagementServer(environment, ...parts),
          inject: [HttpAdapterHost, PlantsHealth, Metrics],
        },
      ],
    };
  }
}
