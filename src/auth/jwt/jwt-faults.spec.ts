import { describe, expect, it } from '@jest/globals';
import { AuthModuleOptionsError } from '../auth.options.js';
import { verifierOf } from '../auth.module.js';
import { jwtFaults } from './jwt-faults.js';

const issuer = 'https://id.example.com/realms/plants';
const audience = 'plants';

describe(jwtFaults.name, () => {
  it.each([
    undefined,
    { issuer, audience },
    { issuer: `${issuer}/`, audience: ['plants', 'garden'], jwksUrl: undefined },
    { issuer: 'http://127.0.0.1:8080', audience: [audience], jwksUrl: 'http://127.0.0.1:8080/keys?version=2' },
  ])('should find none in %j', (options) => {
    expect(jwtFaults(options)).toEqual([]);
  });

  it.each<[unknown, ...string[]]>([
    [null, 'jwt: is null, should be { issuer, audience }'],
    [issuer, 'jwt: is a string, should be { issuer, audience }'],
    [[issuer], 'jwt: is an array, should be { issuer, audience }'],
    [
      {},
      'jwt.issuer: is missing, should be an http or https URL without user, query or fragment',
      'jwt.audience: is missing, should be what the "aud"',
    ],
    [{ issuer, audience, jwksUri: issuer }, 'jwt.jwksUri: is no option, should be one of issuer, audience, jwksUrl'],
    [{ issuer: 'hidden.example.com', audience }, 'jwt.issuer: is a string that is none, should be an http or https'],
    [{ issuer: `${issuer}?hidden`, audience }, 'jwt.issuer: is a string that is none'],
    [{ issuer: new URL(issuer), audience }, 'jwt.issuer: is an object, should be an http or https URL'],
    [{ issuer, audience: '' }, 'jwt.audience: is empty'],
    [{ issuer, audience: [] }, 'jwt.audience: is empty'],
    [{ issuer, audience: ['plants', 5] }, 'jwt.audience: has something that is no text, or an empty one'],
    [{ issuer, audience: ['plants', ''] }, 'jwt.audience: has something that is no text, or an empty one'],
    [{ issuer, audience: 5 }, 'jwt.audience: is 5'],
    [{ issuer, audience: null }, 'jwt.audience: is null'],
    [
      { issuer, audience, jwksUrl: 'https://user:hidden@id.example.com' },
      'jwt.jwksUrl: is a string that is none, should be an http or https URL without user or fragment',
    ],
    [{ issuer, audience, jwksUrl: null }, 'jwt.jwksUrl: is null'],
  ])('should tell what is wrong in %j, and repeat no text', (options, ...faults) => {
    const found = jwtFaults(options);
    expect(found).toEqual(faults.map((fault) => expect.stringContaining(fault) as unknown));
    expect(found.join()).not.toContain('hidden');
  });

  it('should keep a module from starting', () => {
    expect(() => verifierOf({ jwt: { issuer } })).toThrow(AuthModuleOptionsError);
    expect(() => verifierOf({ jwt: { issuer } })).toThrow(/^jwt.audience: is missing/m);
    expect(verifierOf({ jwt: { issuer, audience } }).verify('no-jwt')).toBeUndefined();
  });
});
