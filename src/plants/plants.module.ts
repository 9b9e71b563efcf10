import { type DynamicModule, Inject, Module, type NestModule, type OnModuleInit, type Type } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { assertDatabaseReady } from '../database/database-check.js';
import { Database } from '../database/database.js';
import { PrismaService } from '../database/prisma.service.js';
import { ERROR_STATUS } from '../errors/error-status.token.js';
import { BODY_LIMIT } from '../http/body-limit.token.js';
import { BatchWriter } from './batch-writer.js';
import { refuseOtherMethods } from './other-methods.controller.js';
import { PlantStatements } from './plant-sql.js';
import { PlantsHealth } from './plants-health.js';
import {
  assertAsyncOptions,
  PLANTS_MODULE_SETTINGS,
  type PlantsModuleSettings,
  settingsOf,
} from './plants-module-settings.js';
import {
  ConfigurableModuleClass,
  OTHER_METHODS_CONTROLLER,
  PLANTS_MODULE_OPTIONS,
} from './plants.module-definition.js';
import { assertPathFree } from './plants-path.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';
import { PlantsStatistics } from './plants-statistics.js';

/**
 * The store as a module: `POST /plants`, with exact ids, the contract's error bodies, and tables of its own. Who may create
 * plants is for the application to say: with `guards`, such as `BearerAuthGuard` of `AuthModule`, or with a global guard.
 * Starting fails with a `MigrationError` where the database is not at this version, and with a `PlantsModuleOptionsError` where
 * the options can't work.
 *
 * It exports `PlantsService`, `PlantsHealth` and `PlantsStatistics`. Where there are several stores, keep what `forRoot` returned in a constant, and
 * import that, beside the application's module, in the feature that is to have the service of this one.
 */
@Module({
  providers: [
    BatchWriter,
    PlantsService,
    PlantsHealth,
    PlantStatements,
    PlantsRepository,
    PlantsStatistics,
    PrismaService,
    { provide: PLANTS_MODULE_SETTINGS, useFactory: settingsOf, inject: [PLANTS_MODULE_OPTIONS] },
    {
      provide: Database,
      useFactory: ({ database }: PlantsModuleSettings) => Database.open(database),
      inject: [PLANTS_MODULE_SETTINGS],
    },
    {
      provide: BODY_LIMIT,
      useFactory: ({ bodyLimit }: PlantsModuleSettings) => bodyLimit,
      inject: [PLANTS_MODULE_SETTINGS],
    },
    {
      provide: ERROR_STATUS,
      useFactory: ({ errorStatus }: PlantsModuleSettings) => errorStatus,
      inject: [PLANTS_MODULE_SETTINGS],
    },
  ],
  exports: [PlantsService, PlantsHealth, PlantsStatistics],
})
export class PlantsModule extends ConfigurableModuleClass implements NestModule, OnModuleInit {
  constructor(
    private readonly database: Database,
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: PlantsModuleSettings,
    @Inject(OTHER_METHODS_CONTROLLER) private readonly otherMethods: Type,
    private readonly platform: HttpAdapterHost,
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
  ) {
    super();
  }

  /** The store with these options. */
  static override forRoot(options: Parameters<typeof ConfigurableModuleClass.forRoot>[0]): DynamicModule {
    // JavaScript may call it without any, which is told of like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }

  /** The store with the options that a factory returns; what is a PlantsModuleExtras stands beside it. */
  static override forRootAsync(options: Parameters<typeof ConfigurableModuleClass.forRootAsync>[0]): DynamicModule {
    assertAsyncOptions(options);
    return super.forRootAsync(options);
  }

  /** Of the hooks before routes are registered the only one that knows the platform, in Nest's testing modules too. */
  configure(): void {
    const { modules, config } = this;
    const adapter = this.platform.httpAdapter;
    assertPathFree(this, { modules, config, adapter });
    refuseOtherMethods(this.otherMethods, adapter.getType());
  }

  async onModuleInit(): Promise<void> {
    await assertDatabaseReady(this.database, this.settings.database);
  }
}
