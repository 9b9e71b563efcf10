import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { StaticTokenVerifier } from './auth/static-token-verifier.js';
import type { Environment } from './config/environment.js';
import { UnknownPathModule } from './http/unknown-path.module.js';
import { ApiExceptionFilter, AuthModule, BearerAuthGuard, PlantsModule } from './index.js';
import { ManagementModule } from './management/management.module.js';
import { StoreObservationModule } from './management/store-observation.module.js';

/** What the standalone application needs to know: the environment, with a database for certain. */
export type AppOptions = Environment & {
  databaseUrl: string;
  /** Whether this is one of several processes: the one that started them has the management listener. */
  worker?: boolean;
};

/** The standalone application: a host of the store like any other, which guards it and answers all else. */
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
      writeQueueLimit: options.writeQueueLimit,
      errorStatus: options.errorStatus,
      // Its document requires the credential of every operation.
      openApi: { securityScheme: false },
    });
    return {
      module: AppModule,
      imports: [
        // Checked with the environment, and none where only the document is made: the option accessTokens would refuse that.
        AuthModule.forRoot({ verifier: new StaticTokenVerifier(options.accessTokens) }),
        plants,
        ManagementModule.forRoot({
          listener: options.worker ? undefined : { host: options.managementHost, port: options.managementPort },
          imports: [StoreObservationModule.forRoot(plants)],
        }),
        UnknownPathModule,
      ],
      providers: [
        { provide: APP_GUARD, useExisting: BearerAuthGuard },
        { provide: APP_FILTER, useFactory: () => new ApiExceptionFilter(options.errorStatus) },
      ],
    };
  }
}
