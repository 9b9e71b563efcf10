import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JwtVerifier } from '../../src/auth/jwt.verifier.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';
import { bearer, outcomeOf } from '../support/tokens/issued-token.js';
import { json, JwtIssuer, signingKey } from '../support/tokens/jwt-issuer.js';
import { until } from '../support/until.js';

describe(JwtVerifier.name, () => {
  let issuer: JwtIssuer;
  let store: Store;
  beforeAll(async () => {
    issuer = await JwtIssuer.start([await signingKey('a')]);
    store = await startStore({
      ...issuer.variables,
      JWT_AUDIENCE: `https://houses.example, ${issuer.variables.JWT_AUDIENCE}`,
    });
  });
  afterAll(async () => {
    await store.stop();
    await issuer[Symbol.asyncDispose]();
  });

  it('should ask the issuer with the first JWT, and say when it cannot decide, while other tokens are valid', async () => {
    for (const token of [TOKEN, TOKEN]) expect(await outcomeOf(store, token)).toBe(200);
    expect(issuer.requests).toEqual([]);
    issuer.answer = json({}, 503);
    const response = await store.post('{}', bearer(issuer.token()));
    expectRefusal(response, 50300, 'contract');
    expect(response.headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[0-9]+$/) });
    expect(response.headers).not.toHaveProperty('www-authenticate');
    expect(await outcomeOf(store, TOKEN)).toBe(200);
    expect(issuer.requests).toHaveLength(1);
    issuer.answer = undefined;
  });

  it('should create plants with a JWT of the issuer, once it is back, a long one too', async () => {
    await until(async () => (await outcomeOf(store, issuer.token())) === 200);
    expect(await outcomeOf(store, issuer.token({ aud: ['https://houses.example'], groups: 'x'.repeat(11_000) }))).toBe(
      200,
    );
  });

  it.each([
    [40101, 'error="invalid_token"', { aud: 'https://trees.example' }],
    [40300, 'error="insufficient_scope", scope="plants:create"', { scope: 'plants:look' }],
  ])('should refuse with %i and a challenge with %s', async (error, challenge, claims) => {
    const response = await store.post('{}', bearer(issuer.token(claims)));
    expectRefusal(response, error, 'contract');
    expect(response.headers['www-authenticate']).toBe(`Bearer realm="plants", ${challenge}`);
  });
});
