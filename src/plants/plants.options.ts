import {
  type CanActivate,
  type ControllerOptions,
  type ModuleMetadata,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { inspect } from 'node:util';
import { describeOption, givenOptions, numberFault, unknownNames, OptionsError, asyncFaults } from '../util/options.js';
import { isStorableText } from './new-plant.js';
import { type DatabaseOptions, databaseFaults } from '../database/database.options.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import { constants } from 'node:buffer';
import { principalOf } from '../auth/token-verifier.js';

/** What has to be known before the application starts, in `forRootAsync` too. */
export interface PlantsModuleExtras {
  /** Path of the route, below the application's global prefix, such as `garden/plants`; `plants` unless given. */
  path?: string;
  /**
   * Version of the route, or several, where the application has versioning enabled; its default version unless given. Give
   * it where the default is several: for each, Nest then makes an `operationId` of its own.
   */
  version?: ControllerOptions['version'];
  /** Guards of the route, besides the application's global ones; none unless given. */
  guards?: Type<CanActivate>[];
  /** Modules that export what these guards need, such as `AuthModule.forRoot({ accessTokens })`; none unless given. */
  imports?: NonNullable<ModuleMetadata['imports']>;
  /**
   * How the store stands in the OpenAPI documents that the application makes of itself; with its own names, behind `bearer`,
   * unless given.
   */
  openApi?: PlantsOpenApiOptions;
}

/** What the store is called in the application's OpenAPI documents, and which credential it names there. */
export interface PlantsOpenApiOptions {
  /**
   * What the store's names begin with; nothing unless given. With `Store` the schemas are `StoreNewPlant`, `StorePlant` and
   * `StoreError`, the tag is `StorePlants` and the operation `createStorePlant`.
   *
   * Without one, of the store's `Plant` and another schema of this name the one that Nest finds last stands for both, and all
   * that Nest does is to log "Duplicate DTO detected"; and two stores in one document have one `operationId`, which OpenAPI forbids.
   */
  namePrefix?: string;
  /**
   * The document's security scheme that the operation requires; `bearer` unless given, which is what
   * `DocumentBuilder.addBearerAuth()` defines. With `false` the operation names none, and what the document requires holds.
   */
  securityScheme?: string | false;
}

interface Rule {
  /** What the value should be, to follow that word. */
  should: string;
  holds: (value: unknown) => boolean;
}

const EXTRAS: Record<keyof PlantsModuleExtras, Rule> = {
  path: {
    should:
      'be parts made of letters, digits and -._~ with slashes between them, such as "garden/plants": the store knows no parameters or wildcards',
    holds: (value) =>
      typeof value === 'string' &&
      value
        .replace(/^\/|\/$/g, '')
        .split('/')
        .every(isPathPart),
  },
  version: {
    should: 'be a string such as "1", VERSION_NEUTRAL, or an array of these',
    holds: (value) => (Array.isArray(value) ? value.length > 0 && value.every(isVersion) : isVersion(value)),
  },
  guards: {
    should: 'be an array of classes, such as [BearerAuthGuard]',
    holds: (value) => Array.isArray(value) && value.every(isClass),
  },
  imports: { should: 'be an array of modules', holds: Array.isArray },
  openApi: {
    should: 'be an object such as { namePrefix: "Store" }',
    holds: (value) => typeof value === 'object' && value !== null,
  },
};

const OPEN_API: Record<keyof PlantsOpenApiOptions, Rule> = {
  namePrefix: {
    should: 'be letters, digits and _, with a letter first, such as "Store"',
    holds: (value) => typeof value === 'string' && /^[A-Za-z]\w*$/.test(value),
  },
  securityScheme: {
    should: 'be the name of a security scheme of the OpenAPI document, such as "bearer", or false',
    // What OpenAPI allows in the keys of components.
    holds: (value) => value === false || (typeof value === 'string' && /^[\w.-]+$/.test(value)),
  },
};

/**
 * Everything that is wrong with the extras, one line each.
 *
 * @param given the extras, and for `forRoot` the options beside them, which are checked elsewhere
 */
export function extrasFaults(given: PlantsModuleExtras): string[] {
  const { openApi } = given;
  const faults = faultsOf(EXTRAS, given);
  if (!EXTRAS.openApi.holds(openApi)) return faults;
  return [
    ...faults,
    ...unknownNames(Object(openApi) as object, Object.keys(OPEN_API), 'openApi.'),
    ...faultsOf(OPEN_API, Object(openApi) as object, 'openApi.'),
  ];
}

function faultsOf(rules: Record<string, Rule>, given: object, prefix = ''): string[] {
  const values = new Map<string, unknown>(Object.entries(given));
  return Object.entries(rules).flatMap(([name, { should, holds }]) => {
    const value = values.get(name);
    return value === undefined || holds(value) ? [] : [`${prefix}${name}: is ${show(value)}, should ${should}`];
  });
}

function isPathPart(part: string): boolean {
  return /^(?!\.{1,2}$)[\w.~-]+$/.test(part);
}

function isVersion(value: unknown): boolean {
  return value === VERSION_NEUTRAL || (typeof value === 'string' && value !== '');
}

/** Arrow functions, which are no classes, have no prototype. */
function isClass(value: unknown): boolean {
  return typeof value === 'function' && 'prototype' in value;
}

function show(value: unknown): string {
  return inspect(value, { depth: 0, maxStringLength: 60, maxArrayLength: 5, breakLength: Infinity });
}

/** What is told of a plant that was created. */
export interface CreatedPlant {
  /** As it was sent: any int64. */
  readonly id: bigint;
  /** The name of who created it, where that is known. */
  readonly createdBy: string | undefined;
}

/** Who creates a plant. */
export interface Creator {
  /** Stands with the plant, as `created_by`, and in the log: 1 to 255 characters that PostgreSQL can store. */
  readonly name: string;
  /** What metrics count the plant under, where there may be any number of names; the name unless given. */
  readonly metricLabel?: string;
}

const MAX_LENGTH = 255;

/** @throws TypeError where nobody has such a name; the application may say anything */
export function assertCreator(creator: unknown): asserts creator is Creator {
  const { name } = Object(creator) as Record<string, unknown>;
  if (isStorableText(name) && name.length > 0 && name.length <= MAX_LENGTH) return;
  throw new TypeError(
    `the name of a plant's creator cannot be stored: a TokenVerifier, or createdBy of the options, has to tell one of ` +
      `1 to ${MAX_LENGTH} characters without U+0000 and lone surrogates`,
  );
}

/** What a store may be told when the application starts. */
export interface PlantsModuleOptions {
  /** Where plants are stored: exactly one of `url`, `pool` and `adapter`. */
  database: DatabaseOptions;
  /** Bytes that a decoded request body may have; 1 MiB unless given. */
  bodyLimit?: number | undefined;
  /** Creates that may wait for the database at a time, before more are refused with 50301; 10000 unless given. */
  writeQueueLimit?: number | undefined;
  /** Status of failures; `contract` unless given. */
  errorStatus?: ErrorStatus | undefined;
  /**
   * Who creates a plant with this request of the platform, if that is known; whom `BearerAuthGuard` let pass unless given. For
   * applications that guard the route in another way.
   */
  createdBy?: ((request: never) => Creator | undefined) | undefined;
  /** Told of each plant that was created, once, when it is on disk. The answer does not wait for what it does. */
  onCreated?: ((plant: CreatedPlant) => void) | undefined;
}

/** A `PlantsModule` that can't work as it was configured. The message has a line for each fault: the option, and what would be right. */
export class PlantsModuleOptionsError extends OptionsError {
  override readonly name = 'PlantsModuleOptionsError';

  constructor(faults: readonly string[]) {
    super('PlantsModule', faults);
  }
}

/** Injection token of the settings of a store. */
export const PLANTS_MODULE_SETTINGS = Symbol('PLANTS_MODULE_SETTINGS');

/** The options, checked, with the defaults in place of what was not given. */
export interface PlantsModuleSettings {
  database: DatabaseOptions;
  bodyLimit: number;
  writeQueueLimit: number;
  errorStatus: ErrorStatus;
  createdBy: (request: object) => Creator | undefined;
  onCreated?: ((plant: CreatedPlant) => void) | undefined;
}

const OPTIONS = {
  database: true,
  bodyLimit: true,
  writeQueueLimit: true,
  errorStatus: true,
  createdBy: true,
  onCreated: true,
} satisfies Record<keyof PlantsModuleOptions, true>;
const PLANTS_MODULE_SETTINGS_EXTRAS = {
  path: true,
  version: true,
  guards: true,
  imports: true,
  openApi: true,
} satisfies Record<keyof PlantsModuleExtras, true>;
const ERROR_STATUSES: readonly ErrorStatus[] = ['contract', 'semantic'];
const MEBIBYTE = 1_048_576;
const MILLION = 1_000_000;

/** Throws a PlantsModuleOptionsError that names every fault. JavaScript has no types, so all is checked. */
export function settingsOf(options: unknown): PlantsModuleSettings {
  const given = givenOptions(options);
  const { database, bodyLimit = MEBIBYTE, writeQueueLimit = 10_000, errorStatus = 'contract' } = given;
  const { createdBy = principalOf, onCreated } = given;
  // Nest takes what has to be known before from the options of forRoot, so these can only come from a factory.
  const late = Object.keys(PLANTS_MODULE_SETTINGS_EXTRAS).filter((name) => name in given);
  refuse([
    ...unknownNames(given, [...Object.keys(OPTIONS), ...Object.keys(PLANTS_MODULE_SETTINGS_EXTRAS)]),
    ...late.map((name) => `${name}: comes too late from a factory, should stand beside it, in forRootAsync`),
    ...databaseFaults(database),
    // A longer body could not become a string.
    ...numberFault('bodyLimit', bodyLimit, constants.MAX_STRING_LENGTH),
    ...numberFault('writeQueueLimit', writeQueueLimit, MILLION),
    ...(ERROR_STATUSES.includes(errorStatus as ErrorStatus)
      ? []
      : [`errorStatus: ${describeOption(errorStatus)}, should be ${ERROR_STATUSES.join(' or ')}`]),
    ...functionFault('createdBy', createdBy, 'that tells who creates a plant from the request'),
    ...functionFault('onCreated', onCreated, 'that is told of each plant that was created'),
  ]);
  return { database, bodyLimit, writeQueueLimit, errorStatus, createdBy, onCreated } as PlantsModuleSettings;
}

function functionFault(name: string, value: unknown, purpose: string): string[] {
  if (value === undefined || typeof value === 'function') return [];
  return [`${name}: ${describeOption(value)}, should be a function ${purpose}`];
}

/** Throws a PlantsModuleOptionsError where something beside the factory would be ignored, guards with a typo for example. */
export function assertAsyncOptions(options: unknown): void {
  refuse(asyncFaults(options, { extras: Object.keys(PLANTS_MODULE_SETTINGS_EXTRAS), options: Object.keys(OPTIONS) }));
}

function refuse(faults: string[]): void {
  if (faults.length > 0) throw new PlantsModuleOptionsError(faults);
}
