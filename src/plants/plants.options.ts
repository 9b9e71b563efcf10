import type { CanActivate, ControllerOptions, FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import { Allow, IsArray, IsIn, IsInstance, IsObject, IsOptional, Matches, ValidateNested } from 'class-validator';
import { type DatabaseOptions, databaseOptionsOf } from '../database/database.options.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import { assertValid, CheckedBy, IsIntBetween, optionsOf, type OptionsOf } from '../util/options.js';

/** The creator of a plant. A `Principal` is one. */
export interface Creator {
  /** It is logged, and stored as `created_by`: 1 to 255 characters without U+0000 and lone surrogates. */
  readonly name: string;
}

export const PLANTS_MODULE = 'PlantsModule';

export const DEFAULT_BODY_LIMIT = 102_400;
export const MAX_BODY_LIMIT = 1_048_576;
export const DEFAULT_WRITE_QUEUE_LIMIT = 10_000;
export const MAX_WRITE_QUEUE_LIMIT = 1_000_000;
export const ERROR_STATUSES = ['contract', 'semantic'] as const satisfies readonly ErrorStatus[];

/** The options that the factory of `forRootAsync` returns. */
export class StoreOptions {
  /** The database of the plants: `{ url }`, or the application's `{ pool }` of pg. */
  @IsObject()
  @ValidateNested()
  database!: DatabaseOptions;
  /** Maximum size of a body in bytes, 1 to 1048576. A larger one is answered with 41300. @defaultValue 102400 */
  @IsIntBetween(1, MAX_BODY_LIMIT)
  bodyLimit = DEFAULT_BODY_LIMIT;
  /** Maximum number of waiting creates, 1 to 1000000. More are answered with 50301. @defaultValue 10000 */
  @IsIntBetween(1, MAX_WRITE_QUEUE_LIMIT)
  writeQueueLimit = DEFAULT_WRITE_QUEUE_LIMIT;
  /** Overrides that of the route. Its statuses do not stand in the document. @defaultValue none */
  @IsOptional()
  @IsIn(ERROR_STATUSES)
  errorStatus?: ErrorStatus;
  /**
   * Returns the creator, given the request of the platform. It must not return a promise.
   * @defaultValue the principal of `BearerAuthGuard`; nobody with other guards
   */
  @IsOptional()
  @IsInstance(Function)
  createdBy?: (request: never) => Creator | undefined;
}

type GivenStoreOptions = OptionsOf<StoreOptions, 'database'>;

/**
 * Who may create plants:
 * - guard classes, at least one: `BearerAuthGuard` or your own. They run after the global guards;
 * - `'global'`: a global guard protects the route. The start checks only that there is one;
 * - `'none'`: everybody may create plants, unless a global guard forbids it. The start logs a warning.
 */
type Guards = readonly [Type<CanActivate>, ...Type<CanActivate>[]] | 'global' | 'none';

const GUARDS =
  'must be an array of guard classes, such as [BearerAuthGuard]; ' +
  "or 'global', if a global guard protects the route; or 'none', to open it to everybody";

function isGuards(value: unknown): boolean {
  return value === 'global' || value === 'none' || (Array.isArray(value) && value.length > 0 && value.every(isGuard));
}

/** Some versions of Nest ignore a class without this method, which would leave the route open. */
function isGuard(value: unknown): boolean {
  const { prototype } = Object(value) as { prototype?: Partial<CanActivate> };
  return typeof value === 'function' && typeof prototype?.canActivate === 'function';
}

const PATHS =
  'must be parts made of letters, digits and -._~ with slashes between them, such as "garden/plants": ' +
  'the store knows no parameters or wildcards; or false';
const PATH = /^\/?(?!\.{1,2}(\/|$))[\w.~-]+(\/(?!\.{1,2}(\/|$))[\w.~-]+)*\/?$/;

/** The options that Nest needs before the start. `forRootAsync` takes them next to the factory. */
export class RouteOptions {
  /** Path of the route below the global prefix, such as `garden/plants`; `false`: no route. @defaultValue 'plants' */
  @CheckedBy((path) => (path === false || (typeof path === 'string' && PATH.test(path)) ? undefined : PATHS))
  path: string | false = 'plants';
  /** The `version` of `@Controller()`, with versioning enabled. @defaultValue that of the application */
  @Allow()
  version?: ControllerOptions['version'];
  /** Who may create plants. Required, unless `path` is `false`. */
  @CheckedBy((guards, { path }: RouteOptions) =>
    isGuards(guards) || (path === false && guards === undefined) ? undefined : GUARDS,
  )
  guards!: Guards;
  /** Modules that the guards need, such as `PlantsAuthModule.forRoot({ accessTokens })`. @defaultValue [] */
  @IsArray()
  imports: NonNullable<ModuleMetadata['imports']> = [];
  /** `contract` answers failures with 400, `semantic` with its first three digits. @defaultValue 'contract' */
  @IsIn(ERROR_STATUSES)
  errorStatus: ErrorStatus = 'contract';
  /** The name of the security scheme in OpenAPI, unless `guards` is `'none'`. @defaultValue 'bearer' */
  // OpenAPI allows these characters in the keys of components.
  @Matches(/^[\w.-]+$/)
  securityScheme = 'bearer';
  /** The beginning of the names of the schemas in OpenAPI, such as `PlantStoreError`. @defaultValue 'PlantStore' */
  @Matches(/^[\w.-]*$/)
  schemaPrefix = 'PlantStore';
}

type GivenRouteOptions = Partial<Omit<RouteOptions, 'path' | 'guards'>> &
  ({ path?: string; guards: Guards } | { path: false; guards?: Guards });

/** The options of `PlantsModule.forRoot`. `guards` is required unless `path` is `false`. */
export type PlantsModuleOptions = GivenStoreOptions & GivenRouteOptions;

/** The options of `PlantsModule.forRootAsync`: a factory, and next to it the options of the route. */
export type PlantsModuleAsyncOptions = GivenRouteOptions &
  Pick<FactoryProvider<GivenStoreOptions>, 'useFactory' | 'inject'>;

/** Checks the options and adds the defaults. @throws OptionsError that names every fault */
export function storeOptionsOf(given: unknown): StoreOptions {
  const options = optionsOf(StoreOptions, given);
  options.database = databaseOptionsOf(options.database);
  return assertValid(options, PLANTS_MODULE);
}

/** Does the same for the options of the route. */
export function routeOptionsOf(given: object): RouteOptions {
  return assertValid(optionsOf(RouteOptions, given), PLANTS_MODULE);
}
