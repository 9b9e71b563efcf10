import { constants } from 'node:buffer';
import { principalOf } from '../auth/token-verifier.js';
import type { DatabaseOptions } from '../database/database-options.js';
import { databaseFaults } from '../database/database-faults.js';
import { describeOption, givenOptions, numberFault, unknownNames } from '../options/option-faults.js';
import type { ErrorStatus } from '../errors/error-status.js';
import { asyncFaults } from '../options/async-faults.js';
import type { CreatedPlant } from './created-plant.js';
import type { Creator } from './creator.js';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';
import type { PlantsModuleExtras } from './plants-module.extras.js';
import type { PlantsModuleOptions } from './plants-module.options.js';

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
const EXTRAS = { path: true, version: true, guards: true, imports: true, openApi: true } satisfies Record<
  keyof PlantsModuleExtras,
  true
>;
const ERROR_STATUSES: readonly ErrorStatus[] = ['contract', 'semantic'];
const MEBIBYTE = 1_048_576;
const MILLION = 1_000_000;

/** Throws a PlantsModuleOptionsError that names every fault. JavaScript has no types, so all is checked. */
export function settingsOf(options: unknown): PlantsModuleSettings {
  const given = givenOptions(options);
  const { database, bodyLimit = MEBIBYTE, writeQueueLimit = 10_000, errorStatus = 'contract' } = given;
  const { createdBy = principalOf, onCreated } = given;
  // Nest takes what has to be known before from the options of forRoot, so these can only come from a factory.
  const late = Object.keys(EXTRAS).filter((name) => name in given);
  refuse([
    ...unknownNames(given, [...Object.keys(OPTIONS), ...Object.keys(EXTRAS)]),
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
  refuse(asyncFaults(options, { extras: Object.keys(EXTRAS), options: Object.keys(OPTIONS) }));
}

function refuse(faults: string[]): void {
  if (faults.length > 0) throw new PlantsModuleOptionsError(faults);
}
