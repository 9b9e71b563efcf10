import { describe, expect, it } from '@jest/globals';
import { faultsOf } from '../../test/support/service/configuration-refusal.js';
import { checkAsyncOptions } from './options.js';

class StoreOptions {
  database = undefined;
}
const NAMES = { extras: ['path', 'imports'], options: StoreOptions };
const useFactory = (): object => ({});
class Options {
  create = useFactory;
}

const asyncFaults = (given: unknown): string[] =>
  faultsOf('a module', () => {
    checkAsyncOptions(given, NAMES, 'a module');
  });

describe(checkAsyncOptions.name, () => {
  it.each([
    [{ useFactory }],
    [{ useFactory, inject: ['CONFIG'], imports: [], path: 'x' }],
    [{ useClass: Options, useFactory: undefined }],
    [{ useExisting: Options }],
    [{ useExisting: 'OPTIONS' }],
  ])('should let pass %#', (given) => {
    expect(asyncFaults(given)).toEqual([]);
  });

  it.each<[unknown, ...string[]]>([
    [undefined, 'useFactory: is missing, should be a function that returns the options'],
    [null, 'useFactory: is missing, should be a function that returns the options'],
    [useFactory, 'useFactory: is missing, should be a function that returns the options'],
    [{ useFactory: undefined }, 'useFactory: is missing, should be a function that returns the options'],
    [{ useFactory: {} }, 'useFactory: is an object, should be a function that returns the options'],
    [{ useClass: 'Options' }, 'useClass: is a string, should be a class'],
    [
      { useFactory, useClass: Options },
      'useFactory: several of useFactory, useClass and useExisting are given, should be one of them',
    ],
    [
      { useClass: Options, useExisting: 'OPTIONS' },
      'useFactory: several of useFactory, useClass and useExisting are given, should be one of them',
    ],
    [{ useFactory, inject: 'CONFIG' }, 'inject: is a string, should be an array of injection tokens'],
    [{ useFactory, database: {} }, 'database: is not read here, should be returned by the factory'],
    [
      { usefactory: useFactory },
      'usefactory: is no option, should be one of useFactory, useClass, useExisting, inject, provideInjectionTokensFrom, imports, path',
      'useFactory: is missing, should be a function that returns the options',
    ],
  ])('should tell of every fault (%#)', (given, ...faults) => {
    expect(asyncFaults(given)).toEqual(faults);
  });
});
