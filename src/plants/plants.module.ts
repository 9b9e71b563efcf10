import { type DynamicModule, Logger, Module, type NestModule, type OnModuleInit, Optional } from '@nestjs/common';
import { ApplicationConfig, ModuleRef } from '@nestjs/core';
import { hasUrl } from '../database/database.options.js';
import { HostPool } from '../database/host-pool.js';
import { PrismaService } from '../database/prisma.service.js';
import { StorePool, UrlPool } from '../database/store-pool.js';
import { ERROR_STATUS } from '../http/api-exception.filter.js';
import { assertNotRequestScoped, OptionsError } from '../util/options.js';
import { WriteStatistics } from '../writer/batch-writer.js';
import { controllerAt } from './plants.controller.js';
import { PlantsHealth } from './plants.health.js';
import {
  PLANTS_MODULE,
  type PlantsModuleAsyncOptions,
  type PlantsModuleOptions,
  RouteOptions,
  routeOptionsOf,
  StoreOptions,
  storeOptionsOf,
} from './plants.options.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

const NO_GLOBAL_GUARD =
  "guards: is 'global', but the application has no global guard, " +
  'should be an array of classes, such as [BearerAuthGuard]; ' +
  'or add a global guard, with APP_GUARD or with app.useGlobalGuards() before the start';

/**
 * The store as a module: `POST /plants` and its tables. `guards` says who may create plants. The start fails with a
 * {@link MigrationError} if the database cannot be reached or its tables are not those of this version.
 *
 * It exports `PlantsService` and `PlantsHealth`. Each call of `forRoot` makes another store. To use one store in
 * several modules, import what one call has returned.
 *
 * @example
 * ```ts
 * import { Module } from '@nestjs/common';
 * import { NestFactory } from '@nestjs/core';
 * import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';
 *
 * const url = process.env.DATABASE_URL ?? 'postgresql://plants@localhost:5432/plants';
 * const auth = PlantsAuthModule.forRoot({ accessTokens: ['a-token-of-20-characters-or-more'] });
 *
 * @Module({ imports: [PlantsModule.forRoot({ database: { url }, guards: [BearerAuthGuard], imports: [auth] })] })
 * class GardenModule {}
 *
 * const app = await NestFactory.create(GardenModule, { rawBody: true });
 * await app.listen(3000);
 * ```
 */
@Module({
  providers: [
    PlantsService,
    PlantsRepository,
    PlantsHealth,
    WriteStatistics,
    PrismaService,
    {
      provide: StorePool,
      useFactory: ({ database }: StoreOptions) => (hasUrl(database) ? new UrlPool(database) : new HostPool(database)),
      inject: [StoreOptions],
    },
  ],
  // The last two are for the metrics of the service. Their classes are not public.
  exports: [PlantsService, PlantsHealth, WriteStatistics, StorePool],
})
export class PlantsModule implements NestModule, OnModuleInit {
  constructor(
    private readonly route: RouteOptions,
    private readonly moduleRef: ModuleRef,
    @Optional() private readonly application: ApplicationConfig,
  ) {}

  /** A store with these options. @throws Error that names every fault; of some options, it comes at the start */
  static forRoot(options: PlantsModuleOptions): DynamicModule {
    const { database, bodyLimit, writeQueueLimit, createdBy, ...route } = options;
    const useFactory = () => ({ database, bodyLimit, writeQueueLimit, createdBy });
    return PlantsModule.forRootAsync({ ...route, useFactory });
  }

  /** A store with the options that the factory returns. The options of the route stand next to the factory. */
  static forRootAsync({ useFactory, inject = [], ...given }: PlantsModuleAsyncOptions): DynamicModule {
    const route = routeOptionsOf(given);
    const storeOptions = async (...injected: unknown[]) => storeOptionsOf(await useFactory(...injected));
    return {
      module: PlantsModule,
      imports: route.imports,
      controllers: route.path === false ? [] : [controllerAt(route.path, route)],
      providers: [
        { provide: RouteOptions, useValue: route },
        { provide: StoreOptions, useFactory: storeOptions, inject },
        {
          provide: ERROR_STATUS,
          useFactory: ({ errorStatus = route.errorStatus }: StoreOptions) => errorStatus,
          inject: [StoreOptions],
        },
      ],
    };
  }

  /** Nest calls this before the store connects to the database. */
  configure(): void {
    const { guards, path } = this.route;
    if (path === false) return;
    if (guards === 'none')
      new Logger(PlantsModule.name).warn(
        `guards is 'none': everybody may create plants at the path "${path}", unless a global guard forbids it`,
      );
    if (guards !== 'global') return;
    const found = [...this.application.getGlobalGuards(), ...this.application.getGlobalRequestGuards()];
    // A factory for APP_GUARD may have returned nothing.
    if (!found.some(Boolean)) throw new OptionsError(PLANTS_MODULE, [NO_GLOBAL_GUARD]);
  }

  onModuleInit(): void {
    assertNotRequestScoped(this.moduleRef, StoreOptions, PLANTS_MODULE);
  }
}
