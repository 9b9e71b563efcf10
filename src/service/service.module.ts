import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { PlantsAuthModule } from '../auth/auth.module.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { ApiExceptionFilter } from '../http/api-exception.filter.js';
import { PlantsModule } from '../plants/plants.module.js';
import type { ServiceEnvironment } from './environment.js';
import { NotFoundModule } from './http/not-found.controller.js';
import { SECURITY_SCHEME } from './http/swagger-ui.js';
import { ManagementServer } from './management/management-server.js';
import { Metrics, RequestMetrics } from './management/metrics.js';
import { Readiness } from './management/readiness.js';

/** The service: a host of the store like any other, which guards it, answers every other path, and tells operators how it is. */
@Module({})
export class ServiceModule {
  static forRoot(environment: ServiceEnvironment, requests: RequestMetrics): DynamicModule {
    const {
      ACCESS_TOKENS,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: audience,
      JWT_JWKS_URL: jwksUrl,
      JWT_TYP: typ,
    } = environment;
    const database = {
      url: environment.DATABASE_URL,
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
    });
    return {
      module: ServiceModule,
      imports: [auth, plants, NotFoundModule.forRoot(path)],
      providers: [
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useFactory: () => new ApiExceptionFilter(environment.ERROR_STATUS) },
        { provide: RequestMetrics, useValue: requests },
        Metrics,
        Readiness,
        {
          provide: ManagementServer,
          useFactory: (...parts: [Readiness, Metrics]) => new ManagementServer(environment, ...parts),
          inject: [Readiness, Metrics],
        },
      ],
    };
  }
}
