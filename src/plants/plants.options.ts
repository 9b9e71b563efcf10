import { VERSION_NEUTRAL } from '@nestjs/common';
import { inspect } from 'node:util';
import { unknownNames } from '../options/option-faults.js';
import type { PlantsModuleExtras, PlantsOpenApiOptions } from './plants-module.extras.js';

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
