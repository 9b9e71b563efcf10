import { describe, expect, it } from '@jest/globals';
import { AuthModule, verifierOf } from '../auth.module.js';
import { AuthModuleOptionsError } from '../auth.options.js';
import { issuedTokensFaults } from './issued-tokens-faults.js';

const url = 'postgresql://gardener:secret@db/plants';

describe(issuedTokensFaults.name, () => {
  it.each([
    [undefined],
    [{ url }],
    [{ url: 'postgresql://gardener@db/plants', password: 'secret', schema: 'green', timeout: 86_400_000 }],
    [{ url: `${url}?schema=green`, schema: 'green' }],
    [{ url, password: undefined, schema: undefined, timeout: undefined }],
  ])('should find none in %j', (options) => {
    expect(issuedTokensFaults(options)).toEqual([]);
  });

  it.each<[unknown, ...string[]]>([
    [null, 'issuedTokens: is null, should be { url }: the database that the tokens are in'],
    [url, 'issuedTokens: is a string, should be { url }'],
    [[url], 'issuedTokens: is an array, should be { url }'],
    [{}, 'issuedTokens.url: is missing, should be a PostgreSQL URL'],
    [{ url: 5 }, 'issuedTokens.url: is 5, should be a PostgreSQL URL'],
    [{ url: 'mysql://root:secret@db/plants' }, 'issuedTokens.url: must be a PostgreSQL URL such as'],
    [{ url, password: 'hidden' }, 'issuedTokens.url: holds a password other than the one given separately'],
    [{ url, password: 5 }, 'issuedTokens.password: is 5, should be a string'],
    [{ url, schema: '' }, 'issuedTokens.schema: must name a schema of 1 to 63 bytes'],
    [{ url, schema: 5 }, 'issuedTokens.schema: is 5, should be the name of a schema'],
    [
      { url: `${url}?schema=green`, schema: 'red' },
      'issuedTokens.schema: is not the schema that issuedTokens.url names',
    ],
    [{ url, timeout: 0 }, 'issuedTokens.timeout: is 0, should be a whole number from 1 to 86400000'],
    [{ url, timeout: '5' }, 'issuedTokens.timeout: is a string, should be a whole number'],
    [{ url, size: 5 }, 'issuedTokens.size: is no option, should be one of url, password, schema, timeout'],
    [
      { uri: url, timeout: 0.5 },
      'issuedTokens.uri: is no option',
      'issuedTokens.url: is missing',
      'issuedTokens.timeout: is 0.5',
    ],
  ])('should tell of every fault of %j, and of no secret', (options, ...faults) => {
    const found = issuedTokensFaults(options);
    expect(found).toHaveLength(faults.length);
    found.forEach((fault, index) => {
      expect(fault).toContain(faults[index]);
    });
    expect(found.join()).not.toMatch(/secret|hidden/);
  });

  it('should keep a module from being made', () => {
    const options = { issuedTokens: { url: 'nowhere' } };
    expect(() => verifierOf(options)).toThrow(AuthModuleOptionsError);
    expect(() => verifierOf(options)).toThrow(/^issuedTokens\.url: must be a PostgreSQL URL/m);
    expect(() => verifierOf({ issuedTokens: { url } })).not.toThrow();
    expect(() => AuthModule.forRoot({ issuedTokens: { url } })).not.toThrow();
  });
});
