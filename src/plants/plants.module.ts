import {
  type CanActivate,
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Logger,
  Module,
  type NestModule,
  Optional,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { Database, PrismaService } from '../database/database.js';
import { ERROR_STATUS } from '../errors/error-catalogue.js';
import { OptionsError } from '../util/options.js';
import { BatchWriter } from './batch-writer.js';
import { CreateFailures } from './create-failures.js';
import { Lanes } from './lanes.js';
import { PlantStatements } from './plant-sql.js';
import { PlantsHealth } from './plants-health.js';
import { PlantsStatistics } from './plants-statistics.js';
import { plantsControllerAt } from './plants.controller.js';
import {
  extrasOf,
  PLANTS_MODULE,
  PLANTS_MODULE_SETTINGS,
  PlantsExtras,
  type PlantsModuleExtras,
  type PlantsModuleOptions,
  type PlantsModuleSettings,
  settingsOf,
} from './plants.options.js';
import { PlantsStart } from './plants-start.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<PlantsModuleOptions>({
  moduleName: 'Plants',
})
  .setClassMethodName('forRoot')
  // All of them: Nest would count an extra that is missing here among the options.
  .setExtras<Partial<PlantsExtras>>(new PlantsExtras(), storeOf)
  .build();

/** As Nest builds it, except for the extras: for Nest, all of them are optional. */
interface PlantsModuleBase {
  new (): object;
  forRoot(options: PlantsModuleOptions & PlantsModuleExtras): DynamicModule;
  /** The store with the options that a factory returns. `path`, `version`, `guards`, `imports`, `errorStatus` and `securityScheme` are given next to the factory. */
  forRootAsync(options: ConfigurableModuleAsyncOptions<PlantsModuleOptions> & PlantsModuleExtras): DynamicModule;
}
const PlantsModuleBase: PlantsModuleBase = ConfigurableModuleClass;

const NO_GLOBAL_GUARD =
  "guards: is 'global', but the application has no global guard, should be an array of classes, such as [BearerAuthGuard]; " +
  'or add a global guard, with APP_GUARD or with app.useGlobalGuards() before the start';

const openRoute = (path: string): string =>
  `guards is 'none': everybody may create plants at the path "${path}", unless a global guard forbids it. ` +
  'Give an array of classes, such as [BearerAuthGuard], to close it';

function hasGlobalGuard(application: ApplicationConfig): boolean {
  // A factory of APP_GUARD may have returned nothing.
  const guards: (Partial<CanActivate> | undefined)[] = application.getGlobalGuards();
  return (
    application.getGlobalRequestGuards().length > 0 || guards.some((guard) => typeof guard?.canActivate === 'function')
  );
}

function storeOf(definition: DynamicModule, given: object): DynamicModule {
  const extras = extrasOf(given);
  return {
    ...definition,
    providers: [
      ...(definition.providers ?? []),
      { provide: PlantsExtras, useValue: extras },
      { provide: ERROR_STATUS, useValue: extras.errorStatus },
    ],
    imports: [...(definition.imports ?? []), ...extras.imports],
    controllers: extras.path === false ? [] : [plantsControllerAt(extras.path, extras)],
  };
}

/**
 * The store as a module: `POST /plants`, with exact ids, the contract's error bodies, and tables of its own. The application says with
 * `guards` who may create plants. The start fails with a {@link MigrationError} if the database lacks the tables of this version or cannot be
 * reached.
 *
 * It exports `PlantsService` and `PlantsHealth`. Each call of `forRoot` makes a store of its own: to use one store in several
 * modules, keep what `forRoot` returned in a constant, and import that.
 *
 * @example
 * ```ts
 * import { Module } from '@nestjs/common';
 * import { NestFactory } from '@nestjs/core';
 * import { AuthModule, BearerAuthGuard, exemptPlantsFromBodyParser, PlantsModule } from 'plant-store';
 *
 * const url = process.env.DATABASE_URL ?? 'postgresql://plants@localhost:5432/plants';
 * const auth = AuthModule.forRoot({ accessTokens: ['a-token-of-20-characters-or-more'] });
 *
 * @Module({ imports: [PlantsModule.forRoot({ database: { url }, guards: [BearerAuthGuard], imports: [auth] })] })
 * class GardenModule {}
 *
 * const app = await NestFactory.create(GardenModule);
 * exemptPlantsFromBodyParser(app);
 * await app.listen(3000);
 * ```
 */
@Module({
  providers: [
    BatchWriter,
    CreateFailures,
    Lanes,
    PlantsService,
    PlantsHealth,
    PlantStatements,
    PlantsRepository,
    PlantsStart,
    PlantsStatistics,
    PrismaService,
    { provide: PLANTS_MODULE_SETTINGS, useFactory: settingsOf, inject: [MODULE_OPTIONS_TOKEN] },
    {
      provide: Database,
      useFactory: ({ database }: PlantsModuleSettings) => Database.open(database),
      inject: [PLANTS_MODULE_SETTINGS],
    },
  ],
  // The database for the metrics of this package's own application; its class is not public.
  exports: [PlantsService, PlantsHealth, PlantsStatistics, Database],
})
export class PlantsModule extends PlantsModuleBase implements NestModule {
  constructor(
    private readonly extras: PlantsExtras,
    @Optional() private readonly application: ApplicationConfig,
  ) {
    super();
  }

  /** The store with these options. @throws Error that names every fault, if they cannot work; for `database` and the like at the start */
  static override forRoot(options: PlantsModuleOptions & PlantsModuleExtras): DynamicModule {
    // JavaScript may call it without any, which is reported like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }

  /** Before anything connects to the database. */
  configure(): void {
    const { guards, path } = this.extras;
    if (path === false) return;
    if (guards === 'none') new Logger(PlantsModule.name).warn(openRoute(path));
    if (guards === 'global' && !hasGlobalGuard(this.application))
      throw new OptionsError(PLANTS_MODULE, [NO_GLOBAL_GUARD]);
  }
}
