import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JwtVerifier } from '../../src/auth/jwt.verifier.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';
import { AUDIENCE } from '../support/tokens/forged-jwt.js';
import { createWith, outcomeOf } from '../support/tokens/jwt-request.js';
import { OidcIssuer } from '../support/tokens/oidc-issuer.js';

describe(JwtVerifier.name, () => {
  let issuer: OidcIssuer;
  let store: Store;
  let other: Store;
  beforeAll(async () => {
    issuer = await OidcIssuer.start();
    store = await startStore(issuer.variables);
    other = await startStore({
      ...issuer.variables,
      DATABASE_URL: store.database.url,
      JWT_AUDIENCE: `https://houses.example, ${AUDIENCE}`,
      JWT_JWKS_URL: issuer.jwksUrl,
      ERROR_STATUS: 'semantic',
    });
  });
  afterAll(async () => {
    await other.stop();
    await store.stop();
    await issuer[Symbol.asyncDispose]();
  });

  it('should ask the issuer for nothing before the first JWT', async () => {
    expect(await outcomeOf(store, TOKEN)).toBe(200);
    expect(await outcomeOf(store, 'some-token-of-nobody')).toBe(40101);
    expect(issuer.requests).toEqual([]);
  });

  it('should create plants with a JWT that the issuer gave to a client, at every instance', async () => {
    const token = await issuer.token();
    for (let i = 0; i < 3; i++) {
      for (const instance of [store, other]) {
        expect(await createWith(instance, token)).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
      }
    }
    // One found the keys by itself, the other was configured with their URL.
    expect(issuer.requests.filter((path) => path !== '/token').sort()).toEqual([
      '/.well-known/openid-configuration',
      '/jwks',
      '/jwks',
    ]);
  });

  it('should want the scope, of one who may do other things', async () => {
    const token = await issuer.token({ scope: 'plants:look' });
    for (const instance of [store, other]) {
      const response = await createWith(instance, token);
      expect(expectRefusal(response, 40300, instance.errorStatus)).toContain('plants:create');
      expect(response.headers['www-authenticate']).toBe(
        'Bearer realm="plants", error="insufficient_scope", scope="plants:create"',
      );
    }
  });

  it('should want the audience, of one that the issuer lets in elsewhere', async () => {
    const token = await issuer.token({ resource: 'https://houses.example' });
    expect(await outcomeOf(store, token)).toBe(40101);
    expect(await outcomeOf(other, token)).toBe(200);
  });
});
