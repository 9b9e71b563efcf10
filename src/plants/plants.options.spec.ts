import { describe, expect, it } from '@jest/globals';
import { VERSION_NEUTRAL } from '@nestjs/common';
import { faultsOf as faultsOfError } from '../../test/support/service/configuration-refusal.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { principalOf } from '../auth/token-verifier.js';
import { PlantsModule } from './plants.module.js';
import { routeOptionsOf, type PlantsRouteOptions, plantsOptionsOf } from './plants.options.js';

const database = { url: 'postgresql://gardener:secret@db/plants' };

const faultsOf = (use: () => unknown): string[] => faultsOfError('PlantsModule', use);

const containing = (parts: string[]): unknown[] => parts.map((part) => expect.stringContaining(part) as unknown);

describe(plantsOptionsOf.name, () => {
  it('should have the defaults in place of what is not given', () => {
    const settings = {
      database: { ...database, size: 10, timeout: 5000 },
      bodyLimit: 1_048_576,
      writeQueueLimit: 10_000,
      createdBy: principalOf,
    };
    expect(plantsOptionsOf({ database })).toEqual(settings);
    expect(plantsOptionsOf({ database, bodyLimit: undefined })).toEqual(settings);
    const given = {
      database: { ...database, size: 1, timeout: 2 },
      bodyLimit: 1,
      writeQueueLimit: 2,
      createdBy: () => undefined,
    };
    expect(plantsOptionsOf(given)).toEqual(given);
  });

  it.each<[unknown, ...string[]]>([
    [undefined, 'database: is missing'],
    ['postgresql://gardener:secret@db/plants', 'database: is missing'],
    [{}, 'database: is missing'],
    [
      { database, bodylimit: 5 },
      'bodylimit: is no option, should be one of database, bodyLimit, writeQueueLimit, createdBy',
    ],
    [{ database, createdBy: 'alice' }, 'createdBy: is a string, should be a function that returns who creates a plant'],
    [{ database, bodyLimit: 0 }, 'bodyLimit: is 0, should be a whole number of bytes from 1 to '],
    [{ database, bodyLimit: '1mb' }, 'bodyLimit: is a string'],
    [{ database, bodyLimit: null }, 'bodyLimit: is null'],
    [{ database, bodyLimit: 2 ** 40 }, 'bodyLimit: is 1099511627776'],
    [{ database, writeQueueLimit: 0 }, 'writeQueueLimit: is 0, should be a whole number from 1 to 1000000'],
    [{ database, guards: [], path: 'x' }, 'guards: is no option, should be one of', 'path: is no option'],
    [
      { bodyLimit: 1.5, createdBy: '', database: {} },
      'database.url: is undefined',
      'bodyLimit: is 1.5',
      'createdBy: is a',
    ],
  ])('should be refused with every fault of %j, and no secret', (options, ...faults) => {
    const found = faultsOf(() => plantsOptionsOf(options));
    expect(found).toEqual(containing(faults));
    expect(found.join()).not.toMatch('secret');
  });
});

class Guard {
  canActivate(): boolean {
    return true;
  }
}

describe(routeOptionsOf.name, () => {
  it.each<Partial<PlantsRouteOptions>>([
    {},
    { path: 'plants' },
    { path: '/api/v1.0/my-plants_~/' },
    { version: '1' },
    { version: VERSION_NEUTRAL },
    { version: ['1', VERSION_NEUTRAL] },
    { guards: [BearerAuthGuard, Guard], imports: [] },
    { guards: 'global' },
    { errorStatus: 'semantic' },
    { securityScheme: 'host.jwt-1' },
    { path: false },
  ])('should let pass (%#)', (extras) => {
    expect(faultsOf(() => routeOptionsOf({ guards: 'none', ...extras }))).toEqual([]);
  });

  it.each([
    ['path: is a string, should be parts made of letters, digits and -._~', { path: '' }],
    ['path: is a string, should be', { path: '/' }],
    ['path: is a string, should be', { path: 'a//b' }],
    ['path: is a string, should be', { path: 'a/..' }],
    ['path: is a string, should be', { path: 'garden/:id' }],
    ['path: is a string, should be', { path: '*all' }],
    ['path: is an array, should be', { path: ['a', 'b'] }],
    ['path: is null, should be', { path: null }],
    ['path: is true, should be', { path: true }],
    [
      "guards: is missing, should be an array of guard classes, such as [BearerAuthGuard]; or 'global', if a global guard protects the route; or 'none'",
      { guards: undefined },
    ],
    ['guards: is null, should be an array of guard classes', { guards: null }],
    ['guards: is an array, should be an array of guard classes', { guards: [] }],
    ['guards: is a string, should be an array of guard classes', { guards: 'Global' }],
    ['guards: is a function, should be an array of guard classes', { guards: Guard }],
    ['guards: is an array, should be an array of guard classes', { guards: [Guard, undefined] }],
    ['guards: is an array, should be an array of guard classes', { guards: [() => true] }],
    ['guards: is an array, should be an array of guard classes', { guards: [new Guard()] }],
    ['guards: is an array, should be an array of guard classes', { guards: [Guard, Object] }],
    ['guards: is an array, should be an array of guard classes', { guards: ['none'] }],
    ['errorStatus: is a string, should be one of contract, semantic', { errorStatus: 'Semantic' }],
    ['errorStatus: is 400, should be', { errorStatus: 400 }],
    ['imports: is an object, should be an array of modules', { imports: {} }],
    ['securityScheme: is a string, should be the name of a security scheme', { securityScheme: '' }],
    ['securityScheme: is false, should be', { securityScheme: false }],
  ])('should refuse: %s', (message, extras) => {
    const options = { database: { url: 'postgresql://localhost/plants' }, guards: 'none', ...extras } as never;
    expect(() => PlantsModule.forRoot(options)).toThrow(/^The options of PlantsModule cannot be used:/);
    expect(() => PlantsModule.forRoot(options)).toThrow(`\n${message}`);
  });

  it('should tell of all at once', () => {
    expect(faultsOf(() => routeOptionsOf({ path: '', imports: {}, securityScheme: '' }))).toHaveLength(4);
  });
});
