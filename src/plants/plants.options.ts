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
  OptionsError,
  Rule,
  Should,
  WholeNumber,
} from '../util/options.js';

/** A plant that was created, as `onCreated` gets it. */
export interface CreatedPlant {
  /** As it was sent: any int64. */
  readonly id: bigint;
  /** The name of who created it, if that is known. */
  readonly createdBy: string | undefined;
}

/** Who creates a plant. */
export interface Creator {
  /** Is stored with the plant, as `created_by`, and logged: 1 to 255 characters that PostgreSQL can store. */
  readonly name: string;
  /** What metrics count the plant under, if there may be any number of names; the name unless given. */
  readonly metricLabel?: string;
}

/** A `PlantsModule` that can't work as it was configured. The message has a line for each fault: the option, and what would be right. */
export class PlantsModuleOptionsError extends OptionsError {
  override readonly name = 'PlantsModuleOptionsError';

  constructor(faults: readonly string[]) {
    super('PlantsModule', faults);
  }
}

/** A longer body could not become a string. */
export const BodyLimit = WholeNumber(1, constants.MAX_STRING_LENGTH, 'a whole number of bytes');
export const QueueLimit = WholeNumber(1, 1_000_000);

export class PlantsSettings {
  /** Where plants are stored: exactly one of `url`, `pool` and `adapter`. */
  @DatabaseOption()
  database!: DatabaseOptions;
  /** Bytes that a decoded request body may have; 1 MiB unless given. */
  @BodyLimit
  bodyLimit = 1_048_576;
  /** Creates that may wait for the database at a time, before more are refused with 50301; 10000 unless given. */
  @QueueLimit
  writeQueueLimit = 10_000;
  /**
   * Who creates a plant with this request of the platform, if that is known; the principal of `BearerAuthGuard` unless given. For
   * applications that guard the route in another way.
   */
  @FunctionThat('returns who creates a plant with a request')
  createdBy: (request: never) => Creator | undefined = principalOf;
  /**
   * Called for each plant that was created, once, when it is on disk. Nothing waits for the promise that it may return, neither the
   * answer nor a shutdown, and what it throws or rejects with is only logged. An end of the process may lose the call.
   */
  @FunctionThat('is called for each plant that was created')
  onCreated?: ((plant: CreatedPlant) => void | Promise<void>) | undefined;
}

/** What a store may be given when the application starts. */
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

/** Who may create plants. */
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
   * What the store's names begin with; nothing unless given. With `Store` the schemas are `StoreNewPlant`, `StorePlant` and
   * `StoreError`, the tag is `StorePlants` and the operation `createStorePlant`.
   *
   * Without one, of the store's `Plant` and another schema of this name the one that Nest finds last replaces the other, and all
   * that Nest does is to log "Duplicate DTO detected"; and two stores in one document have one `operationId`, which OpenAPI forbids.
   */
  @Matching('letters, digits and _, with a letter first, such as "Store"', /^[A-Za-z]\w*$/)
  namePrefix?: string;
  /**
   * The document's security scheme that the operation requires; `bearer` unless given, which is what
   * `DocumentBuilder.addBearerAuth()` defines. With `false` the operation names none, and what the document requires holds.
   */
  // What OpenAPI allows in the keys of components.
  @Should(
    'the name of a security scheme of the OpenAPI document, such as "bearer", or false',
    (value) => value === false || (typeof value === 'string' && /^[\w.-]+$/.test(value)),
  )
  securityScheme: string | false = 'bearer';
}

/** What the store is called in the application's OpenAPI documents, and which credential it names there. */
export type PlantsOpenApiOptions = Partial<PlantsOpenApi>;

export class PlantsExtras {
  /** Path of the route, below the application's global prefix, such as `garden/plants`; `plants` unless given. */
  @Matching(
    'parts made of letters, digits and -._~ with slashes between them, such as "garden/plants": the store knows no parameters or wildcards',
    /^\/?(?!\.{1,2}(\/|$))[\w.~-]+(\/(?!\.{1,2}(\/|$))[\w.~-]+)*\/?$/,
  )
  path = 'plants';
  /**
   * Version of the route, or several, if the application has versioning enabled; its default version unless given. Give
   * it if the default is several: for each, Nest then makes an `operationId` of its own.
   */
  @Should('a string such as "1", VERSION_NEUTRAL, or an array of these', (value) =>
    Array.isArray(value) ? value.length > 0 && value.every(isVersion) : isVersion(value),
  )
  version?: ControllerOptions['version'];
  /**
   * Who may create plants: guards of the route, in addition to the application's global ones. `'global'` if a global guard
   * protects it: the start checks only that there is one. `'none'` opens it to everybody, with a warning at the start.
   */
  @Rule(guardsFault)
  guards!: PlantsGuards;
  /** Modules that export what these guards need, such as `AuthModule.forRoot({ accessTokens })`; none unless given. */
  @Should('an array of modules', Array.isArray)
  imports: NonNullable<ModuleMetadata['imports']> = [];
  /** Status of failures; `contract` unless given. */
  @Choice(['contract', 'semantic'] satisfies ErrorStatus[])
  errorStatus: ErrorStatus = 'contract';
  /** The store's names and its credential in the OpenAPI documents of the application; its own names, behind `bearer`, unless given. */
  @Nested('an object such as { namePrefix: "Store" }', () => PlantsOpenApi)
  openApi: PlantsOpenApiOptions = {};
}

/** What has to be known before the application starts, in `forRootAsync` too. */
export type PlantsModuleExtras = Pick<PlantsExtras, 'guards'> & Partial<Omit<PlantsExtras, 'guards'>>;

const EXTRAS = optionNames(PlantsExtras);

/** The options of a store. Throws a PlantsModuleOptionsError that names every fault. */
export function settingsOf(options: unknown): PlantsModuleSettings {
  return checkOptions(PlantsSettings, options, PlantsModuleOptionsError, {
    // Nest takes them from the options of forRoot, so these can only come from a factory.
    known: EXTRAS,
    misplaced: EXTRAS,
    fault: 'comes too late from a factory, should be given in addition to it, in forRootAsync',
  }) as PlantsModuleSettings;
}

/** The extras. @param given the extras, and for `forRoot` all options; the others are checked elsewhere */
export function extrasOf(given: PlantsModuleExtras): Required<PlantsModuleExtras> {
  const extras = Object.fromEntries(Object.entries(given).filter(([name]) => EXTRAS.includes(name)));
  return checkOptions(PlantsExtras, extras, PlantsModuleOptionsError) as Required<PlantsModuleExtras>;
}

/** Throws a PlantsModuleOptionsError if something in addition to the factory would be ignored, guards with a typo for example. */
export function checkAsyncPlantsOptions(options: unknown): void {
  checkAsyncOptions(options, { extras: EXTRAS, options: PlantsSettings }, PlantsModuleOptionsError);
}
