import {
  type CanActivate,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  Injectable,
  Module,
} from '@nestjs/common';
import { DatabaseTimeoutError, DatabaseUnreachableError } from '../database/database.errors.js';
import { Database, type Query } from '../database/database.js';
import type { ApiError } from '../errors/api-error.js';
import { BatchWriter } from '../plants/batch-writer.js';
import { CreateFailures } from '../plants/create-failures.js';
import type { NewPlant } from '../plants/new-plant.js';
import { type PlantRecord, PlantStatements } from '../plants/plant-sql.js';
import { PlantsHealth } from '../plants/plants-health.js';
import { PlantsStatistics } from '../plants/plants-statistics.js';
import type { CreateResult } from '../plants/write-queue.js';
import { WriteQueueFullError } from '../plants/plants.errors.js';
import { PLANTS_MODULE_OPTIONS, PlantsModule } from '../plants/plants.module.js';
import {
  PLANTS_MODULE_SETTINGS,
  type PlantsModuleExtras,
  type PlantsModuleOptions,
  PlantsModuleOptionsError,
  type PlantsModuleSettings,
  settingsOf,
} from '../plants/plants.options.js';
import { PlantsRepository } from '../plants/plants.repository.js';
import { PlantsService } from '../plants/plants.service.js';
import { PlantsStart } from '../plants/plants-start.js';

/** A URL, as the options need one. Nothing connects to it, and no server has this name. */
const NO_DATABASE = { url: 'postgresql://plants@in-memory.invalid/plants' };

/** What makes a create fail, by the number that it is answered with. */
const FAILURES = new Map<number, new (message: string) => Error>([
  [50300, DatabaseUnreachableError],
  [50301, WriteQueueFullError],
  [50400, DatabaseTimeoutError],
]);

/** A plant as it is stored. Fields that were not given are absent. */
export interface PlantInMemory extends NewPlant {
  /** The name of its creator. @defaultValue none */
  createdBy?: string;
  /** The key that it was created with. @defaultValue none */
  idempotencyKey?: string;
}

/** The memory of a `PlantsTestingModule`: `app.get(PlantsInMemory)`. */
export abstract class PlantsInMemory {
  /** The stored plants, in the order of their creation. */
  abstract readonly plants: PlantInMemory[];
  /** Removes all plants, and the failures of `failNext` that no create had yet. Call it between two tests. */
  abstract clear(): void;
  /** The next create without a `transaction` fails as if the database were away (50300), overloaded (50301) or silent (50400). @throws TypeError for another number */
  abstract failNext(error: 50300 | 50301 | 50400): void;
}

/** Takes the place of the writer, of the statements in a transaction of the host's, and of all below. */
@Injectable()
class WriterInMemory
  extends PlantsInMemory
  implements Pick<BatchWriter, 'create'>, Pick<PlantStatements, 'insertIn' | 'findExistingIn'>
{
  private readonly records = new Map<bigint, PlantRecord>();
  private readonly failures: Error[] = [];

  constructor(private readonly statistics: PlantsStatistics) {
    super();
  }

  get plants(): PlantInMemory[] {
    const isGiven = ([, value]: [string, unknown]): boolean => value !== null;
    const plantOf = (record: PlantRecord): object => Object.fromEntries(Object.entries(record).filter(isGiven));
    return [...this.records.values()].map(plantOf) as PlantInMemory[];
  }

  clear(): void {
    this.records.clear();
    this.failures.length = 0;
  }

  failNext(error: number): void {
    const Failure = FAILURES.get(error);
    if (!Failure) throw new TypeError(`failNext: is ${error}, should be one of ${[...FAILURES.keys()].join(', ')}`);
    this.failures.push(new Failure(`failNext(${error})`));
  }

  create(plant: PlantRecord): Promise<CreateResult> {
    this.statistics.statements += 1;
    const failure = this.failures.shift();
    if (failure) return Promise.reject(failure);
    const existingPlant = this.records.get(plant.id);
    if (existingPlant) return Promise.resolve({ stored: false, existingPlant });
    this.records.set(plant.id, plant);
    this.statistics.created += 1;
    return Promise.resolve({ stored: true });
  }

  insertIn(_query: Query, plant: PlantRecord): Promise<boolean> {
    const isNew = !this.records.has(plant.id);
    if (isNew) this.records.set(plant.id, plant);
    return Promise.resolve(isNew);
  }

  findExistingIn(_query: Query, id: bigint): Promise<PlantRecord | undefined> {
    return Promise.resolve(this.records.get(id));
  }
}

/** Only `failNext` makes it fail: a failure that a test asks for needs no line in its log. */
@Injectable()
class RepositoryInMemory extends PlantsRepository {
  override create(plant: PlantRecord): Promise<boolean> {
    return super.create(plant).catch((failure: unknown) => {
      throw Object.assign(failure as ApiError, { isLogged: false });
    });
  }
}

/** Lets every request pass. `PlantsModule` cannot tell it from other guards, and so does not warn of an open route. */
class OpenGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

function settingsWithoutDatabase(options?: Record<string, unknown>): PlantsModuleSettings {
  if (options?.database === undefined) return settingsOf({ ...options, database: NO_DATABASE });
  const fault = 'database: is given, should be left out: PlantsTestingModule keeps the plants in memory';
  throw new PlantsModuleOptionsError([fault]);
}

type OptionsInMemory = Omit<PlantsModuleOptions, 'database'>;

/** All options of `PlantsModule` but `database`, and none is required: without `guards` the route is open. @interface */
export type PlantsTestingModuleOptions = OptionsInMemory & Partial<PlantsModuleExtras>;

/**
 * The store for tests of an application: `POST /plants` as `PlantsModule` has it, but with the plants in memory. It needs no database and opens
 * no connection. A plant that is created in a `transaction` is stored at once, and stays if that is rolled back.
 *
 * It exports what `PlantsModule` exports, and `PlantsInMemory`. `PlantsHealth.check()` resolves.
 *
 * @example
 * ```ts
 * import { Test } from '@nestjs/testing';
 * import { exemptPlantsFromBodyParser, PlantsService } from 'plant-store';
 * import { PlantsInMemory, PlantsTestingModule } from 'plant-store/testing';
 *
 * const testing = await Test.createTestingModule({ imports: [PlantsTestingModule.forRoot()] }).compile();
 * const app = testing.createNestApplication();
 * exemptPlantsFromBodyParser(app); // before init()
 * await app.init();
 * await app.get(PlantsService).create({ id: 1n, name: 'Rose' });
 * console.log(app.get(PlantsInMemory).plants); // [ { id: 1n, name: 'Rose' } ]
 * ```
 */
@Module({
  providers: [
    { provide: BatchWriter, useClass: WriterInMemory },
    { provide: PlantStatements, useExisting: BatchWriter },
    { provide: PlantsInMemory, useExisting: BatchWriter },
    { provide: Database, useValue: {} },
    { provide: PlantsStart, useValue: { run: () => Promise.resolve() } },
    PlantsService,
    { provide: PlantsHealth, useFactory: (): Pick<PlantsHealth, 'check'> => ({ check: () => Promise.resolve() }) },
    CreateFailures,
    { provide: PlantsRepository, useClass: RepositoryInMemory },
    PlantsStatistics,
    { provide: PLANTS_MODULE_SETTINGS, useFactory: settingsWithoutDatabase, inject: [PLANTS_MODULE_OPTIONS] },
  ],
  exports: [PlantsService, PlantsHealth, PlantsStatistics, PlantsInMemory],
})
export class PlantsTestingModule extends PlantsModule {
  /** The store with these options, or with the defaults of `PlantsModule` and an open route. @throws `PlantsModuleOptionsError` as `PlantsModule` */
  static override forRoot(options: PlantsTestingModuleOptions = {}): DynamicModule {
    return super.forRoot({ guards: [OpenGuard], ...options } as Parameters<typeof PlantsModule.forRoot>[0]);
  }

  /** The store with the options that a factory returns, as `PlantsModule`. @throws `PlantsModuleOptionsError` as `PlantsModule` */
  static override forRootAsync(
    options: ConfigurableModuleAsyncOptions<OptionsInMemory> & Partial<PlantsModuleExtras>,
  ): DynamicModule {
    return super.forRootAsync({ guards: [OpenGuard], ...options } as Parameters<typeof PlantsModule.forRootAsync>[0]);
  }
}
