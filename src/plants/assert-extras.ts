import { VERSION_NEUTRAL } from '@nestjs/common';
import { inspect } from 'node:util';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';
import type { PlantsModuleExtras, PlantsOpenApiOptions } from './plants-module.extras.js';

interface Rule {
  must: string;
  holds: (value: unknown) => boolean;
}

const EXTRAS: Record<keyof PlantsModuleExtras, Rule> = {
  path: {
    must: 'be parts made of letters, digits and -._~ with slashes between them, such as "garden/plants": the store knows no parameters or wildcards',
    holds: (value) =>
      typeof value === 'string' &&
      value
        .replace(/^\/|\/$/g, '')
        .split('/')
        .every(isPathPart),
  },
  version: {
    must: 'be a string such as "1", VERSION_NEUTRAL, or an array of these',
    holds: (value) => (Array.isArray(value) ? value.length > 0 && value.every(isVersion) : isVersion(value)),
  },
  guards: {
    must: 'be an array of classes, such as [BearerAuthGuard]',
    holds: (value) => Array.isArray(value) && value.every(isClass),
  },
  imports: { must: 'be an array of modules', holds: Array.isArray },
  openApi: {
    must: 'be an object such as { namePrefix: "Store" }',
    holds: (value) => typeof value === 'object' && value !== null,
  },
};

const OPEN_API: Record<keyof PlantsOpenApiOptions, Rule> = {
  namePrefix: {
    must: 'be letters, digits and _, with a letter first, such as "Store"',
    holds: (value) => typeof value === 'string' && /^[A-Za-z]\w*$/.test(value),
  },
  securityScheme: {
    must: 'be the name of a security scheme of the OpenAPI document, such as "bearer", or false',
    // What OpenAPI allows in the keys of components.
    holds: (value) => value === false || (typeof value === 'string' && /^[\w.-]+$/.test(value)),
  },
};

/**
 * @param given the extras, and for `forRoot` the options beside them, which are checked elsewhere
 * @throws PlantsModuleOptionsError for the first that can't work or, in `forRootAsync`, is none
 */
export function assertExtras(given: PlantsModuleExtras, method: 'forRoot' | 'forRootAsync'): void {
  if (method === 'forRootAsync')
    assertKnown(EXTRAS, given, `PlantsModule.forRootAsync (all others are for its factory)`);
  assertEach(EXTRAS, given);
  const { openApi = {} } = given;
  assertKnown(OPEN_API, openApi, 'The option `openApi` of PlantsModule');
  assertEach(OPEN_API, openApi, 'openApi.');
}

function assertKnown(rules: Record<string, Rule>, given: object, owner: string): void {
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(rules, name));
  if (unknown.length === 0) return;
  throw new PlantsModuleOptionsError(`${owner} takes ${list(Object.keys(rules))}; it does not know ${list(unknown)}.`);
}

function assertEach(rules: Record<string, Rule>, given: object, prefix = ''): void {
  const values = new Map<string, unknown>(Object.entries(given));
  for (const [name, { must, holds }] of Object.entries(rules)) {
    const value = values.get(name);
    if (value === undefined || holds(value)) continue;
    throw new PlantsModuleOptionsError(
      `The option \`${prefix}${name}\` of PlantsModule is ${show(value)}; it must ${must}.`,
    );
  }
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

function list(names: string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function show(value: unknown): string {
  return inspect(value, { depth: 0, maxStringLength: 60, maxArrayLength: 5, breakLength: Infinity });
}
