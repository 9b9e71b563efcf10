import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { AuthModule } from '../auth/auth.module.js';
import type { JwtOptions } from '../auth/auth.options.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { ApiExceptionFilter } from '../http/api-exception.filter.js';
import type { ClientStatistics } from '../management/client-statistics.js';
import { ManagementModule } from '../management/management.module.js';
import { PlantsModule } from '../plants/plants.module.js';
import { NotFoundModule } from '../service/http/not-found.controller.js';
import { SECURITY_SCHEME } from '../service/http/swagger-ui.js';
import type { Environment } from './config.js';

/** The options of the standalone application: the environment, with a database. */
export type AppOptions = Environment & { databaseUrl: string };

/** The standalone application: a host of the store like any other, which guards it and answers every other path. */
@Module({})
export class AppModule {
  static forRoot(options: AppOptions, clients: ClientStatistics): DynamicModule {
    const { databaseUrl: url, storageTimeout: timeout } = options;
    const database = { url, password: options.databasePassword, timeout };
    const auth = AuthModule.forRoot({
      accessTokens: options.accessTokens.length > 0 ? options.accessTokens : undefined,
      issuedTokens: database,
      jwt: jwtOf(options),
    });
    const path = `${options.basePath}/plants`;
    const plants = PlantsModule.forRoot({
      path,
      database: { ...database, size: options.databasePoolSize },
      bodyLimit: options.bodyLimit,
      writeQueueLimit: options.writeQueueLimit,
      errorStatus: options.errorStatus,
      guards: 'global',
      securityScheme: SECURITY_SCHEME,
    });
    const management = ManagementModule.forRoot(
      { host: options.managementHost, port: options.managementPort },
      { store: plants, auth, clients },
    );
    return {
      module: AppModule,
      imports: [auth, plants, management, NotFoundModule.forRoot(path)],
      providers: [
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useFactory: () => new ApiExceptionFilter(options.errorStatus) },
      ],
    };
  }
}

function jwtOf({ jwtIssuer, jwtAudience, jwtJwksUrl, jwtTyp }: Environment): JwtOptions | undefined {
  if (jwtIssuer === undefined) return undefined;
  return { issuer: jwtIssuer, audience: jwtAudience, jwksUrl: jwtJwksUrl, typ: jwtTyp };
}
