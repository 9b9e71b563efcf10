import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import { BearerAuthGuard } from './auth/bearer-auth.guard.js';
import type { Environment } from './config/environment.js';
import { ApiExceptionFilter } from './errors/api-exception.filter.js';
import { ERROR_STATUS } from './errors/error-status.token.js';
import { UnknownPathModule } from './http/unknown-path.module.js';
import { DatabaseReadinessModule } from './management/database-readiness.module.js';
import { ManagementModule } from './management/management.module.js';
import { PlantsModule } from './plants/plants.module.js';

/** What the standalone application needs to know: the environment, with a database for certain. */
export type AppOptions = Environment & { databaseUrl: string };

/** The standalone application: the store, guarded and answering alone. */
@Module({})
export class AppModule {
  static forRoot(options: AppOptions): DynamicModule {
    const plants = PlantsModule.forRoot({
      path: `${options.basePath}/plants`,
      database: {
        url: options.databaseUrl,
        password: options.databasePassword,
        size: options.databasePoolSize,
        timeout: options.storageTimeout,
      },
      bodyLimit: options.bodyLimit,
      errorStatus: options.errorStatus,
      // Its document requires the credential of every operation.
      openApi: { securityScheme: false },
    });
    return {
      module: AppModule,
      imports: [
        AuthModule.forRoot({ accessTokens: options.accessTokens }),
        plants,
        ManagementModule.forRoot({
          host: options.managementHost,
          port: options.managementPort,
          imports: [DatabaseReadinessModule.forRoot(plants)],
        }),
        UnknownPathModule,
      ],
      providers: [
        { provide: ERROR_STATUS, useValue: options.errorStatus },
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useClass: ApiExceptionFilter },
      ],
    };
  }
}
