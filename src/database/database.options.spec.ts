import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { faultsOf as faultsOfError } from '../../test/support/rejection.js';
import { checkOptions } from '../util/options.js';
import { DatabaseOption } from './database.options.js';

const url = 'postgresql://gardener:secret@db/plants';
const pool = new pg.Pool();

class Options {
  @DatabaseOption()
  database: unknown;
}

const faultsOf = (database: unknown): string[] =>
  faultsOfError('a store', () => checkOptions(Options, { database }, 'a store'));

describe(DatabaseOption.name, () => {
  it.each([
    { url },
    { url: 'postgresql://gardener@db/plants', password: 'secret', schema: 'green', size: 1, timeout: 86_400_000 },
    { url: `${url}?schema=green`, schema: 'green' },
    { url, password: undefined, schema: undefined, size: undefined, timeout: undefined, pool: undefined },
    { pool },
    { pool: { connect: () => pool.connect() } },
  ])('should find none in %#', (database) => {
    expect(faultsOf(database)).toEqual([]);
  });

  it('should leave a pool the very object that it is', () => {
    const options = checkOptions(Options, { database: { pool } }, 'a store');
    expect((options.database as { pool: unknown }).pool).toBe(pool);
  });

  it.each<[unknown, ...string[]]>([
    [[url], 'database: is an array, should be { url } or { pool }'],
    [undefined, 'database: is missing, should be { url } or { pool }'],
    [null, 'database: is null'],
    [
      {},
      'database.url: is undefined, should be a PostgreSQL URL such as postgresql://user@host:5432/plants; is the environment variable',
    ],
    [{ timeout: 1 }, 'database.url: is undefined'],
    [{ url: undefined, pool: undefined }, 'database.url: is undefined'],
    [
      { url: '' },
      'database.url: is empty, should be a PostgreSQL URL such as postgresql://user@host:5432/plants; is the environment',
    ],
    [{ url, pool }, 'database.pool: is given in addition to url, should be left out, or the url'],
    [
      { uri: url },
      'database.uri: is no option, should be one of url, password, schema, size, timeout, pool',
      'database.url: is undefined',
    ],
    [{ url: 5 }, 'database.url: is 5, should be a PostgreSQL URL'],
    [{ url: 'mysql://root:secret@db/plants' }, 'database.url: must be a PostgreSQL URL such as'],
    [{ url, password: 'hidden' }, 'database.url: holds a password other than the one given separately'],
    [{ url, password: 5 }, 'database.password: is 5, should be a string'],
    [{ url, schema: '' }, 'database.schema: must name a schema of 1 to 63 bytes'],
    [{ pool, schema: '$user' }, 'database.schema: must not be $user'],
    [{ url, schema: 5 }, 'database.schema: is 5, should be the name of a schema'],
    [{ url, size: 0 }, 'database.size: is 0, should be a whole number from 1 to 1000'],
    [{ url, timeout: 0.5 }, 'database.timeout: is 0.5, should be a whole number of milliseconds from 1 to 86400000'],
    [{ pool, timeout: 86_400_001 }, 'database.timeout: is 86400001'],
    [{ pool, size: 5 }, 'database.size: is no option'],
    [{ pool: {} }, 'database.pool: is an object, should be a Pool of pg'],
    [{ url: 5, size: -1, timeout: 'long' }, 'database.url: ', 'database.size: ', 'database.timeout: is a string'],
  ])('should tell what is wrong in %#, and no secret', (database, ...faults) => {
    const found = faultsOf(database);
    expect(found.sort()).toEqual(faults.sort().map((fault) => expect.stringContaining(fault) as unknown));
    expect(found.join()).not.toMatch(/secret|hidden|gardener/);
  });
});
