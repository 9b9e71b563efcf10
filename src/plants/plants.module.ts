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
import { hasUrl } from '../database/database.options.js';
import { Database } from '../database/database.js';
import { assertReadyForCreates } from '../database/migration-status.js';
import { PoolDatabase } from '../database/pool-database.js';
import { PrismaService } from '../database/prisma.js';
import { UrlDatabase } from '../database/url-database.js';
import { ERROR_STATUS } from '../errors/error-catalogue.js';
import { OptionsError } from '../util/options.js';
import { BatchWriter, type PlantWriter } from './batch-writer.js';
import { type InsertTarget, PlantStatements } from './plant-statements.js';
import { PlantsHealth } from './plants.health.js';
import { PlantsMetrics } from './plants.metrics.js';
import { plantsControllerAt } from './plants.controller.js';
import {
  PLANTS_MODULE,
  type PlantsModuleOptions,
  type PlantsModuleRouteOptions,
  PlantsOptions,
  plantsOptionsOf,
  PlantsRouteOptions,
  routeOptionsOf,
} from './plants.options.js';
import { OPEN_WRITER, PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';
import { ShardedWriter, ShardStatements } from './sharded-writer.js';
import { WriteBudget } from './write-queue.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<PlantsModuleOptions>({
  moduleName: 'Plants',
})
  .setClassMethodName('forRoot')
  // All of them: Nest would count one that is missing here among the options of the factory.
  .setExtras<Partial<PlantsRouteOptions>>(new PlantsRouteOptions(), storeOf)
  .build();

/** As Nest builds it, except for the options of the route: for Nest, all of them are optional. */
interface PlantsModuleBase {
  new (): object;
  forRoot(options: PlantsModuleOptions & PlantsModuleRouteOptions): DynamicModule;
  /** The store with the options that a factory returns. `path`, `version`, `guards`, `imports`, `errorStatus` and `securityScheme` are given next to the factory. */
  forRootAsync(options: ConfigurableModuleAsyncOptions<PlantsModuleOptions> & PlantsModuleRouteOptions): DynamicModule;
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
  const route = routeOptionsOf(given);
  return {
    ...definition,
    providers: [
      ...(definition.providers ?? []),
      { provide: PlantsRouteOptions, useValue: route },
      { provide: ERROR_STATUS, useValue: route.errorStatus },
    ],
    imports: [...(definition.imports ?? []), ...route.imports],
    controllers: route.path === false ? [] : [plantsControllerAt(route.path, route)],
  };
}

/** Checks at the start that plants can be created, and opens the writer for the table as it is. */
async function openWriter(
  options: PlantsOptions,
  database: Database,
  prisma: PrismaService,
  statements: PlantStatements,
  budget: WriteBudget,
  metrics: PlantsMetrics,
): Promise<PlantWriter> {
  await assertReadyForCreates(database, options.database);
  const writerOf = (target: InsertTarget): PlantWriter => new BatchWriter(target, budget, database.timeout, metrics);
  const writer = writerOf(statements);
  const ofShard = new ShardStatements(database, prisma);
  return (await ShardedWriter.open(database, writer, () => writerOf(ofShard))) ?? writer;
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
 * import { BearerAuthGuard, exemptPlantsFromBodyParser, PlantsAuthModule, PlantsModule } from 'plant-store';
 *
 * const url = process.env.DATABASE_URL ?? 'postgresql://plants@localhost:5432/plants';
 * const auth = PlantsAuthModule.forRoot({ accessTokens: ['a-token-of-20-characters-or-more'] });
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
    PlantsService,
    PlantsRepository,
    PlantsHealth,
    PlantsMetrics,
    PlantStatements,
    PrismaService,
    { provide: PlantsOptions, useFactory: plantsOptionsOf, inject: [MODULE_OPTIONS_TOKEN] },
    {
      provide: Database,
      useFactory: ({ database }: PlantsOptions) =>
        hasUrl(database) ? new UrlDatabase(database) : new PoolDatabase(database),
      inject: [PlantsOptions],
    },
    {
      provide: WriteBudget,
      useFactory: ({ connections }: Database, { writeQueueLimit }: PlantsOptions) =>
        new WriteBudget(connections, writeQueueLimit),
      inject: [Database, PlantsOptions],
    },
    {
      provide: OPEN_WRITER,
      useFactory: (...parts: Parameters<typeof openWriter>) => openWriter.bind(undefined, ...parts),
      inject: [PlantsOptions, Database, PrismaService, PlantStatements, WriteBudget, PlantsMetrics],
    },
  ],
  // The last three for the metrics of this package's own application; their classes are not public.
  exports: [PlantsService, PlantsHealth, PlantsMetrics, WriteBudget, Database],
})
export class PlantsModule extends PlantsModuleBase implements NestModule {
  constructor(
    private readonly route: PlantsRouteOptions,
    @Optional() private readonly application: ApplicationConfig,
  ) {
    super();
  }

  /** The store with these options. @throws Error that names every fault, if they cannot work; for `database` and the like at the start */
  static override forRoot(options: PlantsModuleOptions & PlantsModuleRouteOptions): DynamicModule {
    // JavaScript may call it without any, which is reported like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }

  /** Before anything connects to the database. */
  configure(): void {
    const { guards, path } = this.route;
    if (path === false) return;
    if (guards === 'none') new Logger(PlantsModule.name).warn(openRoute(path));
    if (guards === 'global' && !hasGlobalGuard(this.application))
      throw new OptionsError(PLANTS_MODULE, [NO_GLOBAL_GUARD]);
  }
}
