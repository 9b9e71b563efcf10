import { describe, expect, it } from '@jest/globals';
import { principalOf } from '../auth/token-verifier.js';
import { PlantsModuleOptionsError, assertAsyncOptions, settingsOf } from './plants.options.js';

const database = { url: 'postgresql://gardener:secret@db/plants' };

function faultsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(PlantsModuleOptionsError);
    const [heading, ...faults] = (error as Error).message.split('\n');
    expect(heading).toBe('The options of PlantsModule cannot be used:');
    return faults;
  }
  return [];
}

const containing = (parts: string[]): unknown[] => parts.map((part) => expect.stringContaining(part) as unknown);

describe(settingsOf.name, () => {
  it('should have the defaults in place of what is not given', () => {
    const settings = {
      database,
      bodyLimit: 1_048_576,
      writeQueueLimit: 10_000,
      errorStatus: 'contract',
      createdBy: principalOf,
    };
    expect(settingsOf({ database })).toEqual(settings);
    expect(settingsOf({ database, bodyLimit: undefined, errorStatus: undefined })).toEqual(settings);
    const given = {
      database,
      bodyLimit: 1,
      writeQueueLimit: 2,
      errorStatus: 'semantic',
      createdBy: () => undefined,
      onCreated: () => undefined,
    };
    expect(settingsOf(given)).toEqual(given);
  });

  it.each<[unknown, ...string[]]>([
    [undefined, 'database: is missing'],
    ['postgresql://gardener:secret@db/plants', 'database: is missing'],
    [{}, 'database: is missing'],
    [
      { database, bodylimit: 5 },
      'bodylimit: is no option, should be one of database, bodyLimit, writeQueueLimit, errorStatus, createdBy, onCreated',
    ],
    [{ database, createdBy: 'alice' }, 'createdBy: is a string, should be a function that tells who creates a plant'],
    [{ database, onCreated: true }, 'onCreated: is true, should be a function that is told of each plant'],
    [{ database, bodyLimit: 0 }, 'bodyLimit: is 0, should be a whole number from 1 to '],
    [{ database, bodyLimit: '1mb' }, 'bodyLimit: is a string'],
    [{ database, bodyLimit: null }, 'bodyLimit: is null'],
    [{ database, bodyLimit: 2 ** 40 }, 'bodyLimit: is 1099511627776'],
    [{ database, writeQueueLimit: 0 }, 'writeQueueLimit: is 0, should be a whole number from 1 to 1000000'],
    [{ database, errorStatus: 'Semantic' }, 'errorStatus: is a string, should be contract or semantic'],
    [{ database, errorStatus: 400 }, 'errorStatus: is 400'],
    [
      { database, guards: [], path: 'x' },
      'path: comes too late from a factory',
      'guards: comes too late from a factory',
    ],
    [
      { bodyLimit: 1.5, errorStatus: '', database: {} },
      'database: has none of',
      'bodyLimit: is 1.5',
      'errorStatus: is a',
    ],
  ])('should be refused with every fault of %j, and no secret', (options, ...faults) => {
    const found = faultsOf(() => settingsOf(options));
    expect(found).toEqual(containing(faults));
    expect(found.join()).not.toMatch('secret');
  });
});

describe(assertAsyncOptions.name, () => {
  const useFactory = (): object => ({ database });

  it('should let pass what Nest and the store know', () => {
    expect(
      faultsOf(() => {
        assertAsyncOptions({ useFactory, inject: [], imports: [], path: 'x', guards: [] });
      }),
    ).toEqual([]);
  });

  it.each<[unknown, ...string[]]>([
    [undefined, 'useFactory: is missing, should be a function that returns the options'],
    [{ useFactory: {} }, 'useFactory: is an object, should be a function'],
    [{ useFactory, gaurds: [] }, 'gaurds: is no option, should be one of useFactory'],
    [{ useFactory, bodyLimit: 5 }, 'bodyLimit: is not read here, should be returned by the factory'],
    [{}, 'useFactory: is missing'],
    [{ database }, 'database: is not read here', 'useFactory: is missing'],
  ])('should refuse what would be ignored: %#', (options, ...faults) => {
    expect(
      faultsOf(() => {
        assertAsyncOptions(options);
      }),
    ).toEqual(containing(faults));
  });
});
