import { describe, expect, it } from '@jest/globals';
import { refusal } from '../../test/support/service/configuration-refusal.js';
import { Environment, loadEnvironment } from './config.js';

describe(`${Environment.name}, JWTs`, () => {
  it('should read what JWTs have to be, and keep the issuer as it is written', () => {
    const variables = {
      JWT_ISSUER: 'https://ID.example.com/realms/plants/',
      JWT_AUDIENCE: 'plants, https://plants.example,',
      JWT_JWKS_URL: 'http://keys:8080/keys?of=plants',
      JWT_TYP: 'AT+JWT',
    };

    expect(loadEnvironment(variables)).toMatchObject({
      jwtIssuer: 'https://ID.example.com/realms/plants/',
      jwtAudience: ['plants', 'https://plants.example'],
      jwtJwksUrl: 'http://keys:8080/keys?of=plants',
      jwtTyp: 'at+jwt',
    });
    expect(loadEnvironment({ JWT_ISSUER: '', JWT_AUDIENCE: ' ', JWT_JWKS_URL: '', JWT_TYP: '' })).toEqual(
      loadEnvironment({}),
    );
  });

  it.each([
    'id.example.com',
    'ftp://id.example.com',
    'https://',
    'https://id.example.com#a',
    'https://id.example.com?a=b',
    'https://id.example.com/ /',
  ])('should refuse the JWT issuer %s, and everything else that is wrong with JWTs with it', (url) => {
    const issuer = `JWT_ISSUER: is ${JSON.stringify(url)}, should be a URL such as https://id.example.com, without user, query or fragment`;

    expect(() => loadEnvironment({ JWT_ISSUER: url, JWT_JWKS_URL: 'keys' })).toThrow(
      refusal(
        issuer,
        'JWT_AUDIENCE: is missing, should be what the issuer puts into the "aud" of JWTs for this service',
        'JWT_JWKS_URL: is "keys", should be a URL such as https://id.example.com, without user or fragment',
      ),
    );
  });

  it.each(['https://user:hunter2@id.example.com', 'user:hunter2@id.example.com', '//hunter2@id.example.com?a'])(
    'should not show the password in the JWT issuer %s',
    (url) => {
      expect(() => loadEnvironment({ JWT_ISSUER: url, JWT_AUDIENCE: 'a' })).toThrow(
        refusal(
          'JWT_ISSUER: holds a user or password, should be a URL such as https://id.example.com, without user, query or fragment',
        ),
      );
    },
  );

  it('should refuse another type of JWTs', () => {
    const variables = { JWT_ISSUER: 'https://id.example.com', JWT_AUDIENCE: 'a', JWT_TYP: 'logout+jwt' };
    expect(() => loadEnvironment(variables)).toThrow(refusal('JWT_TYP: is "logout+jwt", should be one of at+jwt'));
  });

  it('should refuse an audience of JWTs and a URL of keys without an issuer', () => {
    const variables = { JWT_AUDIENCE: 'plants', JWT_JWKS_URL: 'https://id.example.com/keys', JWT_TYP: 'at+jwt' };
    expect(() => loadEnvironment(variables)).toThrow(
      refusal(
        'JWT_AUDIENCE: is set without JWT_ISSUER: should be left out, or that set',
        'JWT_JWKS_URL: is set without JWT_ISSUER: should be left out, or that set',
        'JWT_TYP: is set without JWT_ISSUER: should be left out, or that set',
      ),
    );
    expect(() => loadEnvironment({ JWT_ISSUER: 'https://id.example.com', JWT_AUDIENCE: ' , ' })).toThrow(
      refusal(expect.stringMatching(/^JWT_AUDIENCE: is missing, should be/)),
    );
  });
});
