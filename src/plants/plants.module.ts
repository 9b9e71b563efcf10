import { Inject, Module, type NestModule, type OnModuleInit, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ConnectionPool } from '../database/connection-pool.js';
import { Migrator } from '../database/migrator.js';
import { PrismaService } from '../database/prisma.service.js';
import { reasonOf } from '../database/reason-of.js';
import { ERROR_STATUS } from '../errors/error-status.token.js';
import { BODY_LIMIT } from '../http/body-limit.token.js';
import { refuseOtherMethods } from './other-methods.controller.js';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';
import type { PlantsModuleOptions } from './plants-module.options.js';
import {
  ConfigurableModuleClass,
  OTHER_METHODS_CONTROLLER,
  PLANTS_MODULE_OPTIONS,
} from './plants.module-definition.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

const MEBIBYTE = 1_048_576;

/**
 * The store as a module: `POST /plants`, with exact ids, the contract's error bodies, and a database of its own. Who may create
 * plants is for the application to say: with `guards`, such as `BearerAuthGuard` of `AuthModule`, or with a global guard.
 * Starting fails with a `MigrationError` where the database is not at this version, and with a `PlantsModuleOptionsError` where
 * the options can't work.
 */
@Module({
  providers: [
    PlantsService,
    PlantsRepository,
    PrismaService,
    {
      provide: ConnectionPool,
      useFactory: connect,
      inject: [PLANTS_MODULE_OPTIONS],
    },
    {
      provide: BODY_LIMIT,
      useFactory: ({ bodyLimit = MEBIBYTE }: PlantsModuleOptions) => bodyLimit,
      inject: [PLANTS_MODULE_OPTIONS],
    },
    {
      provide: ERROR_STATUS,
      useFactory: ({ errorStatus = 'contract' }: PlantsModuleOptions) => errorStatus,
      inject: [PLANTS_MODULE_OPTIONS],
    },
  ],
  exports: [PlantsService, ConnectionPool],
})
export class PlantsModule extends ConfigurableModuleClass implements NestModule, OnModuleInit {
  constructor(
    @Inject(PLANTS_MODULE_OPTIONS) private readonly options: PlantsModuleOptions,
    @Inject(OTHER_METHODS_CONTROLLER) private readonly otherMethods: Type,
    private readonly platform: HttpAdapterHost,
  ) {
    super();
  }

  /** Of the hooks before routes are registered the only one that knows the platform, in Nest's testing modules too. */
  configure(): void {
    refuseOtherMethods(this.otherMethods, this.platform.httpAdapter.getType());
  }

  async onModuleInit(): Promise<void> {
    const { url, password } = this.options.database;
    await new Migrator({ url, password }).assertCurrent();
  }
}

function connect({ database }: PlantsModuleOptions): ConnectionPool {
  try {
    return new ConnectionPool(database);
  } catch (cause) {
    throw new PlantsModuleOptionsError(`The option \`database\` of PlantsModule: its url ${reasonOf(cause)}.`, {
      cause,
    });
  }
}
