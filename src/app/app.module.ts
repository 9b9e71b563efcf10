import { type DynamicModule, Logger, type LogLevel, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import type { IssuedTokensOptions, JwtOptions } from '../auth/auth.options.js';
import { RateCounter } from '../auth/limits/rate-counter.js';
import type { Environment } from './config.js';
import { UnknownPathModule } from '../http/server/unknown-path.module.js';
import { ApiExceptionFilter } from '../http/api-exception.filter.js';
import { AuthModule } from '../auth/auth.module.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { type CreatedPlant } from '../plants/plants.options.js';
import { PlantsModule } from '../plants/plants.module.js';
import { ManagementModule, StoreObservationModule } from '../management/management.module.js';

/** What the standalone application needs to know: the environment, with a database for certain. */
export type AppOptions = Environment & {
  databaseUrl: string;
  /** Whether this is one of several processes: the one that started them has the management listener. */
  worker?: boolean;
  /** What counts requests for all of these processes together. */
  rateCounter?: RateCounter;
};

/** The standalone application: a host of the store like any other, which guards it and answers all else. */
@Module({})
export class AppModule {
  static forRoot(options: AppOptions): DynamicModule {
    const database = {
      url: options.databaseUrl,
      password: options.databasePassword,
      timeout: options.storageTimeout,
    };
    const plants = PlantsModule.forRoot({
      path: `${options.basePath}/plants`,
      database: { ...database, size: options.databasePoolSize },
      bodyLimit: options.bodyLimit,
      writeQueueLimit: options.writeQueueLimit,
      errorStatus: options.errorStatus,
      onCreated: logCreated(options),
      // Its document requires the credential of every operation.
      openApi: { securityScheme: false },
    });
    return {
      module: AppModule,
      imports: [
        authOf(options, database),
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

function authOf(options: AppOptions, database: IssuedTokensOptions): DynamicModule {
  const auth = AuthModule.forRoot({
    accessTokens: options.accessTokens.length > 0 ? options.accessTokens : undefined,
    issuedTokens: database,
    jwt: jwtOf(options),
    wrongTokenLimit: options.wrongTokenLimit,
    rateLimit: options.rateLimit,
  });
  const { rateCounter } = options;
  if (rateCounter === undefined) return auth;
  return { ...auth, providers: [...(auth.providers ?? []), { provide: RateCounter, useValue: rateCounter }] };
}

function jwtOf({ jwtIssuer, jwtAudience, jwtJwksUrl }: Environment): JwtOptions | undefined {
  return jwtIssuer === undefined
    ? undefined
    : { issuer: jwtIssuer, audience: jwtAudience, ...(jwtJwksUrl !== undefined && { jwksUrl: jwtJwksUrl }) };
}

const DEBUG: readonly LogLevel[] = ['debug', 'verbose'];

/** Nothing where it is not to be logged: with many creates, a line for each costs as much as they do. */
function logCreated({ logLevel }: Environment): ((plant: CreatedPlant) => void) | undefined {
  if (!DEBUG.includes(logLevel)) return undefined;
  const logger = new Logger(PlantsModule.name);
  return ({ id, createdBy }) => {
    logger.debug('A plant was created', { id: String(id), createdBy });
  };
}
