import { describe, expect, it } from '@jest/globals';
import { asyncFaults } from './options.js';

const NAMES = { extras: ['path', 'imports'], options: ['database'] };
const useFactory = (): object => ({});
class Options {
  create = useFactory;
}

describe(asyncFaults.name, () => {
  it.each([
    [{ useFactory }],
    [{ useFactory, inject: ['CONFIG'], imports: [], path: 'x' }],
    [{ useClass: Options, useFactory: undefined }],
    [{ useExisting: Options }],
    [{ useExisting: 'OPTIONS' }],
  ])('should let pass %#', (given) => {
    expect(asyncFaults(given, NAMES)).toEqual([]);
  });

  it.each<[unknown, ...string[]]>([
    [undefined, 'useFactory: is missing, should be a function that returns the options'],
    [null, 'useFactory: is missing, should be a function that returns the options'],
    [useFactory, 'useFactory: is missing, should be a function that returns the options'],
    [{ useFactory: undefined }, 'useFactory: is missing, should be a function that returns the options'],
    [{ useFactory: {} }, 'useFactory: is an object, should be a function'],
    [{ useClass: 'Options' }, 'useClass: is a string, should be a class'],
    [{ useFactory, useClass: Options }, 'useClass: stands beside useFactory, should be left out, or that one'],
    [{ useFactory, inject: 'CONFIG' }, 'inject: is a string, should be an array of injection tokens'],
    [{ useFactory, database: {} }, 'database: is not read here, should be returned by the factory'],
    [
      { usefactory: useFactory },
      'usefactory: is no option, should be one of useFactory, useClass, useExisting, inject, provideInjectionTokensFrom, imports, path',
      'useFactory: is missing, should be a function that returns the options',
    ],
  ])('should tell of every fault (%#)', (given, ...faults) => {
    expect(asyncFaults(given, NAMES)).toEqual(faults);
  });
});
