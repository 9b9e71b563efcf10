import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JwtVerifier } from '../src/auth/jwt/jwt-verifier.js';
import { OidcIssuer } from './support/oidc-issuer.js';
import { type Store, startStore } from './support/store.js';

const PLANT = (id: number): string => JSON.stringify({ id, name: 'Rose' });

describe(JwtVerifier.name, () => {
  let issuer: OidcIssuer;
  let store: Store;
  beforeAll(async () => {
    issuer = await OidcIssuer.start();
    store = await startStore(issuer.variables);
  });
  afterAll(async () => {
    await store.stop();
    await issuer[Symbol.asyncDispose]();
  });

  it('should create a plant with a JWT of the issuer', async () => {
    const token = await issuer.token();
    console.log(token);
    const response = await store.post(PLANT(1), { Authorization: `Bearer ${token}` });
    console.log(response);
    expect(response.status).toBe(200);
  });
});
