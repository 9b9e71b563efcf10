import { describe, expect, it } from '@jest/globals';
import { faultsOf as faultsOfError } from '../../../test/support/service/configuration-refusal.js';
import { Migrator } from './migrator.js';
import type { MigratorOptions } from './migrator.options.js';

const url = 'postgresql://gardener:secret@db/plants';

const faultsOf = (options?: unknown): string[] =>
  faultsOfError('Migrator', () => new Migrator(options as MigratorOptions));

describe('the options of Migrator', () => {
  it.each([
    { url },
    {
      url: 'postgresql://gardener@db/plants',
      password: 'secret',
      schema: 'green',
      timeout: 1,
      lockWait: 0,
      grantTo: 'plants',
      trustOwners: ['dba'],
    },
    { url, password: undefined, schema: undefined, timeout: undefined, lockWait: undefined },
    // The options of a store's own database, as they are.
    { url, schema: 'green', size: 5, timeout: 5000 },
  ])('should not come of %j', (options) => {
    expect(faultsOf(options)).toEqual([]);
  });

  it('should not come of a schema other than that of the URL, which it overrides', () => {
    expect(new Migrator({ url: `${url}?schema=green`, schema: 'red' }).schema).toBe('red');
  });

  it.each<[unknown, ...string[]]>([
    [undefined, 'url: is undefined, should be a PostgreSQL URL such as'],
    [null, 'url: is undefined, should be a PostgreSQL URL such as'],
    [url, 'url: is undefined, should be a PostgreSQL URL such as'],
    [{}, 'url: is undefined, should be a PostgreSQL URL such as'],
    [{ url: '' }, 'url: is empty, should be a PostgreSQL URL such as'],
    [{ url: null }, 'url: is null'],
    [{ url: 5 }, 'url: is 5, should be a PostgreSQL URL'],
    [{ url: 'mysql://root:secret@db/plants' }, 'url: must be a PostgreSQL URL such as'],
    [{ url: `${url}?schema=` }, 'url: must name a schema of 1 to 63 bytes'],
    [{ url, password: 'hidden' }, 'url: holds a password other than the one given separately'],
    [{ url, password: 5 }, 'password: is 5, should be a string'],
    [{ url, schema: '' }, 'schema: must name a schema of 1 to 63 bytes'],
    [{ url, schema: 'ä'.repeat(32) }, 'schema: must name a schema of 1 to 63 bytes'],
    [{ url, schema: '$user' }, 'schema: must not be $user'],
    [{ url, schema: null }, 'schema: is null, should be the name of a schema'],
    [{ url, timeout: 0 }, 'timeout: is 0, should be a whole number of milliseconds from 1 to 86400000'],
    [{ url, lockWait: -1 }, 'lockWait: is -1, should be a whole number of milliseconds from 0 to 86400000'],
    [{ url, grantTo: 5 }, 'grantTo: is 5, should be the name of a role'],
    [{ url, trustOwners: 'dba' }, 'trustOwners: is a string, should be an array of names of roles'],
    [
      { url, shcema: 'green' },
      'shcema: is no option, should be one of url, password, schema, timeout, lockWait, grantTo, trustOwners, size',
    ],
    [{ schema: '', timeout: 'long' }, 'url: is undefined', 'schema: must name', 'timeout: is a string'],
  ])('should name each option in %j that cannot be, and no secret', (options, ...faults) => {
    const found = faultsOf(options);
    expect(found).toEqual(faults.map((fault) => expect.stringContaining(fault) as unknown));
    expect(found.join()).not.toMatch(/secret|hidden|gardener/);
  });
});
