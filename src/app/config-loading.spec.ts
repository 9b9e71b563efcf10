import { describe, expect, it } from '@jest/globals';
import { PACKAGE_FILE } from '../util/package-files.cjs';
import { ConfigurationError } from './config-error.js';
import { loadEnvironment } from './config.js';

function faultsOf(variables: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadEnvironment(variables);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return [];
}

describe(loadEnvironment.name, () => {
  it('should list every fault at once, one line each', () => {
    const load = () => loadEnvironment({ PORT: 'x', BODY_LIMIT: '1mb', NODE_ENV: 'production' });

    expect(load).toThrow(
      [
        'The configuration cannot be used:',
        'PORT: is "x", should be a whole number from 0 to 65535',
        'DATABASE_URL: is missing, in production it should be the URL of a PostgreSQL database (or DATABASE_URL_FILE a file that holds it)',
        'BODY_LIMIT: is "1mb", should be a whole number of bytes from 1 to 536870888',
      ].join('\n'),
    );
  });

  it('should shorten and escape a wrong value', () => {
    expect(faultsOf({ LOG_LEVEL: `a\u001b\n${'b'.repeat(1000)}` })).toEqual([
      expect.stringMatching(/^LOG_LEVEL: is "a\\u001b\\nb{56}…", should be/),
    ]);
  });

  it('should take an empty variable for one that is not set', () => {
    const empty = { PORT: '', HOST: ' ', ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '', DATABASE_URL: '', DOCS: '' };

    expect(loadEnvironment(empty)).toEqual(loadEnvironment({}));
  });

  it('should leave variables of others alone', () => {
    expect(loadEnvironment({ PATH: '/bin', port: '1', constructor: 'x' })).toEqual(loadEnvironment({}));
  });

  it('should in production want a database, and nothing more', () => {
    const production = { NODE_ENV: 'production' };

    expect(faultsOf(production).map((fault) => fault.split(':')[0])).toEqual(['DATABASE_URL']);
    expect(loadEnvironment({ ...production, DATABASE_URL: 'postgres://h/d' }).production).toBe(true);
    expect(loadEnvironment({}).production).toBe(false);
  });

  it.each([
    ['ACCESS_TOKENS', 'hunter2'],
    ['ACCESS_TOKENS', 'hunter2"hunter2"hunter2'],
    ['DATABASE_URL', 'hunter2'],
    ['DATABASE_URL', 'mysql://user:hunter2@host/plants'],
    ['DATABASE_URL', 'postgres://user:hunter2@host:port/plants'],
    ['DATABASE_URL', 'postgres://user:%hunter2@host/plants'],
    ['DATABASE_URL', 'postgres://user:pa/hunter2@host/plants'],
  ])('should not show the secret in a wrong %s', (name, text) => {
    const faults = faultsOf({ [name]: text });

    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${name}: .*(must|should) (be|have)`))]);
    expect(faults.join()).not.toContain('hunter2');
  });

  it('should name the file variable if the text of a file is wrong', () => {
    expect(faultsOf({ DATABASE_URL_FILE: PACKAGE_FILE })).toEqual([
      expect.stringMatching(/^DATABASE_URL_FILE: must be/),
    ]);
  });

  it('should not call missing what could not be read', () => {
    expect(faultsOf({ NODE_ENV: 'production', DATABASE_URL_FILE: '/no/such' })).toEqual([
      expect.stringMatching(/^DATABASE_URL_FILE: cannot read "\/no\/such"/),
    ]);
  });

  it('should refuse two passwords of one database, and show neither', () => {
    const variables = { DATABASE_URL: 'postgresql://user:hunter2@host/plants', DATABASE_PASSWORD: 'swordfish' };

    const faults = faultsOf(variables);

    expect(faults).toEqual([expect.stringMatching(/^DATABASE_URL: holds a password other than the one given/)]);
    expect(faults.join()).not.toMatch(/hunter2|swordfish/);
  });

  it('should refuse a password of an owner that is not named', () => {
    expect(faultsOf({ MIGRATION_DATABASE_PASSWORD: 'swordfish' })).toEqual([
      'MIGRATION_DATABASE_PASSWORD: is set without MIGRATION_DATABASE_URL: should be left out, or that set',
    ]);
  });
});
