import {
  type CanActivate,
  type ControllerOptions,
  type ModuleMetadata,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { constants } from 'node:buffer';
import { principalOf } from '../auth/token-verifier.js';
import { DatabaseOption, type DatabaseOptions } from '../database/database.options.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import {
  checkAsyncOptions,
  checkOptions,
  Choice,
  describeFound,
  FunctionThat,
  type Given,
  Matching,
  Nested,
  optionNames,
  Rule,
  Should,
  WholeNumber,
} from '../util/options.js';

/** A created plant, as `onCreated` gets it. */
export interface CreatedPlant {
  /** The id as it was sent: any int64. */
  readonly id: bigint;
  /** The name of its creator, if that is known. */
  readonly createdBy: string | undefined;
}

/** The creator of a plant. A `Principal` is one. */
export interface Creator {
  /** Stored with the plant, as `created_by`, and logged: 1 to 255 characters without U+0000 and lone surrogates. */
  readonly name: string;
  /** What metrics count by, if there may be any number of names. @defaultValue the name */
  readonly metricLabel?: string;
}

/** The class that messages name. */
export const PLANTS_MODULE = 'PlantsModule';

/** A longer body could not become a string. */
export const BodyLimit = WholeNumber(1, constants.MAX_STRING_LENGTH, 'a whole number of bytes');
export const QueueLimit = WholeNumber(1, 1_000_000);

export class PlantsSettings {
  /** The database of the plants: `{ url }`, or the application's `{ pool }` of pg. */
  @DatabaseOption()
  database!: DatabaseOptions;
  /** Maximum size of a request body in bytes, decompressed. A larger one is answered with 41300. @defaultValue 1048576 */
  @BodyLimit
  bodyLimit = 1_048_576;
  /** Maximum number of creates that wait for the database, 1 to 1000000; more are answered with 50301. @defaultValue 10000 */
  @QueueLimit
  writeQueueLimit = 10_000;
  /** Returns the creator of a plant, given the request of the platform; not a promise. @defaultValue the principal of `BearerAuthGuard`; with other guards nobody */
  @FunctionThat('returns who creates a plant with a request')
  createdBy: (request: never) => Creator | undefined = principalOf;
  /**
   * Function that is called once for each created plant, after the commit; not for creates in a `transaction`. Neither the answer nor a shutdown
   * waits for the promise that it may return. What it throws is only logged. If the process ends, the call may be lost.
   * @defaultValue none
   */
  @FunctionThat('is called for each plant that was created')
  onCreated?: ((plant: CreatedPlant) => void | Promise<void>) | undefined;
}

/** The options of a store that `forRootAsync` takes from a factory. @interface */
export type PlantsModuleOptions = Given<PlantsSettings, 'database'>;

/** The options, checked, with the defaults in place of what was not given. */
export type PlantsModuleSettings = Omit<PlantsSettings, 'createdBy'> & {
  createdBy: (request: object) => Creator | undefined;
};

/** Injection token of the settings of a store. */
export const PLANTS_MODULE_SETTINGS = Symbol('PLANTS_MODULE_SETTINGS');

function isVersion(value: unknown): boolean {
  return value === VERSION_NEUTRAL || (typeof value === 'string' && value !== '');
}

/** Not every version of Nest refuses a class without this method: some leave it out, and so the route open. */
function isGuard(value: unknown): boolean {
  const { prototype } = Object(value) as { prototype?: Partial<CanActivate> };
  return typeof value === 'function' && typeof prototype?.canActivate === 'function';
}

/**
 * Who may create plants:
 * - guard classes, at least one: guards of the route, the store's `BearerAuthGuard` or your own. They run after the global ones;
 * - `'global'`: a global guard protects the route. The start checks that there is one; it cannot see what that checks;
 * - `'none'`: everybody may create plants, unless a global guard forbids it. The start logs one warning.
 */
export type PlantsGuards = readonly [Type<CanActivate>, ...Type<CanActivate>[]] | 'global' | 'none';

const GUARDS =
  "an array of guard classes, such as [BearerAuthGuard]; or 'global', if a global guard protects the route; or 'none', to open it to everybody";

function guardsFault(guards: unknown): string | undefined {
  if (guards === 'global' || guards === 'none') return undefined;
  if (!Array.isArray(guards)) return `${describeFound(guards, typeof guards === 'string')}, should be ${GUARDS}`;
  if (guards.length === 0) return `is empty, should be ${GUARDS}`;
  const index = guards.findIndex((guard) => !isGuard(guard));
  if (index < 0) return undefined;
  const guard: unknown = guards[index];
  const isNamed = typeof guard === 'function' && guard.name !== '';
  const found = isNamed ? `is ${guard.name}, without a method canActivate` : describeFound(guard);
  return `guard ${index + 1} ${found}, should be ${GUARDS}`;
}

class PlantsOpenApi {
  /**
   * What the store's names begin with: letters, digits and `_`. With `Store` the schemas are `StoreNewPlant`, `StorePlant` and
   * `StoreError`, the tag is `StorePlants` and the operation `createStorePlant`. Needed for several stores in one document, and if the
   * application has schemas of these names: without it Nest lets one replace the other.
   * @defaultValue none
   */
  @Matching('letters, digits and _, with a letter first, such as "Store"', /^[A-Za-z]\w*$/)
  namePrefix?: string;
  /** The security scheme of the document that the operation requires, as `addBearerAuth()` defines it; `false`: none of its own. @defaultValue 'bearer' */
  // What OpenAPI allows in the keys of components.
  @Should(
    'the name of a security scheme of the OpenAPI document, such as "bearer", or false',
    (value) => value === false || (typeof value === 'string' && /^[\w.-]+$/.test(value)),
  )
  securityScheme: string | false = 'bearer';
}

/** The names of the store in the application's OpenAPI documents, and the credential that it requires there. @interface */
export type PlantsOpenApiOptions = Partial<PlantsOpenApi>;

export class PlantsExtras {
  /** Path of the route, below the application's global prefix, such as `garden/plants`. @defaultValue 'plants' */
  @Matching(
    'parts made of letters, digits and -._~ with slashes between them, such as "garden/plants": the store knows no parameters or wildcards',
    /^\/?(?!\.{1,2}(\/|$))[\w.~-]+(\/(?!\.{1,2}(\/|$))[\w.~-]+)*\/?$/,
  )
  path = 'plants';
  /**
   * Version of the route, or several, if the application has versioning enabled. Give it if the default is several: Nest then makes an
   * `operationId` for each.
   * @defaultValue the default version of the application
   */
  @Should('a string such as "1", VERSION_NEUTRAL, or an array of these', (value) =>
    Array.isArray(value) ? value.length > 0 && value.every(isVersion) : isVersion(value),
  )
  version?: ControllerOptions['version'];
  /** Who may create plants. */
  @Rule(guardsFault)
  guards!: PlantsGuards;
  /** Modules that export what the guards need, such as `AuthModule.forRoot({ accessTokens })`. @defaultValue [] */
  @Should('an array of modules', Array.isArray)
  imports: NonNullable<ModuleMetadata['imports']> = [];
  /** Status of failures: `contract` is 400 for each, `semantic` the first three digits of the number. @defaultValue 'contract' */
  @Choice(['contract', 'semantic'] satisfies ErrorStatus[])
  errorStatus: ErrorStatus = 'contract';
  /** The store's names and its credential in the OpenAPI documents of the application: {@link PlantsOpenApiOptions}. @defaultValue {} */
  @Nested('an object such as { namePrefix: "Store" }', () => PlantsOpenApi)
  openApi: PlantsOpenApiOptions = {};
}

/** The options of a store that must be known before the application starts; `forRootAsync` takes them next to the factory. @interface */
export type PlantsModuleExtras = Pick<PlantsExtras, 'guards'> & Partial<Omit<PlantsExtras, 'guards'>>;

const EXTRAS = optionNames(PlantsExtras);

/** The options of a store. Throws an error that names every fault. */
export function settingsOf(options: unknown): PlantsModuleSettings {
  return checkOptions(PlantsSettings, options, PLANTS_MODULE, {
    // Nest takes them from the options of forRoot, so these can only come from a factory.
    known: EXTRAS,
    misplaced: EXTRAS,
    fault: 'comes too late from a factory, should be given in addition to it, in forRootAsync',
  }) as PlantsModuleSettings;
}

/** The extras. @param given the extras, and for `forRoot` all options; the others are checked elsewhere */
export function extrasOf(given: PlantsModuleExtras): Required<PlantsModuleExtras> {
  const extras = Object.fromEntries(Object.entries(given).filter(([name]) => EXTRAS.includes(name)));
  return checkOptions(PlantsExtras, extras, PLANTS_MODULE) as Required<PlantsModuleExtras>;
}

/** Throws if something in addition to the factory would be ignored, guards with a typo for example. */
export function checkAsyncPlantsOptions(options: unknown): void {
  checkAsyncOptions(options, { extras: EXTRAS, options: PlantsSettings }, PLANTS_MODULE);
}
