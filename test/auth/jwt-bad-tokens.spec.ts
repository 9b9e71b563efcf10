import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHmac, createPublicKey } from 'node:crypto';
import { JwtVerifier } from '../../src/auth/jwt.verifier.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';
import { AUDIENCE, base64url, publicJwk, signingKey, type SigningKey } from '../support/tokens/forged-jwt.js';
import { createWith, outcomeOf } from '../support/tokens/jwt-request.js';
import { OidcIssuer } from '../support/tokens/oidc-issuer.js';

const NOW = Math.floor(Date.now() / 1000);
const NESTED = `${'['.repeat(5000)}${']'.repeat(5000)}`;

/** A signature with what everybody knows: the public key, as the secret. */
function signedWithPublicKey(token: string, { kid }: SigningKey, secret: string | Buffer): string {
  const unsigned = `${base64url(JSON.stringify({ alg: 'HS256', kid }))}.${partsOf(token).payload}`;
  return `${unsigned}.${base64url(createHmac('sha256', secret).update(unsigned).digest())}`;
}

function partsOf(token: string): { header: string; payload: string; signature: string } {
  const [header = '', payload = '', signature = ''] = token.split('.');
  return { header, payload, signature };
}

describe(`${JwtVerifier.name}, given tokens that are not valid`, () => {
  let issuer: OidcIssuer;
  let store: Store;
  let stranger: SigningKey;
  let good: string;
  beforeAll(async () => {
    issuer = await OidcIssuer.start();
    store = await startStore(issuer.variables);
    stranger = await signingKey('stranger');
    good = await issuer.token();
  });
  afterAll(async () => {
    await store.stop();
    await issuer[Symbol.asyncDispose]();
  });

  const key = (): SigningKey => issuer.keys[0];
  const publicKey = () => createPublicKey({ key: key(), format: 'jwk' });

  it.each<[string, () => string]>([
    ['of another audience', () => issuer.forge({ aud: 'https://houses.example' })],
    ['of an audience that begins the same', () => issuer.forge({ aud: `${AUDIENCE}/` })],
    ['without an audience', () => issuer.forge({ aud: undefined })],
    ['with an audience of objects', () => issuer.forge({ aud: [{ toString: AUDIENCE }, null, [AUDIENCE]] })],
    ['of another issuer', () => issuer.forge({ iss: 'https://id.example.com' })],
    ['of the issuer with a slash', () => issuer.forge({ iss: `${issuer.url}/` })],
    ['of several issuers', () => issuer.forge({ iss: [issuer.url] })],
    ['without an issuer', () => issuer.forge({ iss: undefined })],
    ['that has expired', () => issuer.forge({ exp: NOW - 60 })],
    ['that expires in words', () => issuer.forge({ exp: String(NOW + 600) })],
    ['that never expires', () => issuer.forge({ exp: undefined })],
    ['that expires at null', () => issuer.forge({ exp: null })],
    ['that is not valid yet', () => issuer.forge({ nbf: NOW + 300 })],
    ['that is valid from a word on', () => issuer.forge({ nbf: 'today' })],
    ['without a subject', () => issuer.forge({ sub: undefined })],
    ['with an empty subject', () => issuer.forge({ sub: '' })],
    ['with a subject that is a number', () => issuer.forge({ sub: 5 })],
    ['with a long subject', () => issuer.forge({ sub: 'x'.repeat(252) })],
    ['with U+0000 in its subject', () => issuer.forge({ sub: 'gar\0dener' })],
    ['with a line break in its subject', () => issuer.forge({ sub: 'gar\ndener' })],
    ['with a subject that reads from right to left', () => issuer.forge({ sub: 'gar\u202edener' })],
    ['with a line separator in its subject', () => issuer.forge({ sub: 'gar\u2028dener' })],
    ['that is bound to a key of its owner', () => issuer.forge({ cnf: { jkt: 'x' } })],
    ['with half a character in its subject', () => issuer.forge({ sub: 'gar\ud800dener' })],
    ['that is not signed', () => `${base64url('{"alg":"none"}')}.${partsOf(good).payload}.`],
    ['that is not signed, and has a signature', () => issuer.forge({}, { alg: 'none' })],
    ['that is not signed, in other letters', () => issuer.forge({}, { alg: 'nOnE' })],
    ['whose signature was taken away', () => good.slice(0, good.lastIndexOf('.') + 1)],
    ['without an algorithm', () => issuer.forge({}, { alg: undefined })],
    ['with an algorithm of the prototype', () => issuer.forge({}, { alg: 'constructor' })],
    ['with the algorithm of another kind of key', () => issuer.forge({}, { alg: 'RS256' })],
    [
      'signed with the public key',
      () => signedWithPublicKey(good, key(), publicKey().export({ type: 'spki', format: 'pem' })),
    ],
    [
      'signed with the public key in DER',
      () => signedWithPublicKey(good, key(), publicKey().export({ type: 'spki', format: 'der' })),
    ],
    ['signed with the public JWK', () => signedWithPublicKey(good, key(), JSON.stringify(publicJwk(key())))],
    ['signed by a stranger with a known name', () => issuer.forge({}, { kid: key().kid }, stranger)],
    ['signed by a stranger', () => issuer.forge({}, {}, stranger)],
    ['signed by a stranger, without a name', () => issuer.forge({}, { kid: undefined }, stranger)],
    ['that brings its own key', () => issuer.forge({}, { jwk: publicJwk(stranger) }, stranger)],
    ['that says where its key is', () => issuer.forge({}, { jku: 'http://127.0.0.1:9/keys' }, stranger)],
    ['with an invalid name of its key', () => issuer.forge({}, { kid: { $ne: null } })],
    ['with SQL as the name of its key', () => issuer.forge({}, { kid: "' OR 1=1; --" })],
    ['cut short', () => good.slice(0, -1)],
    ['cut short by half', () => good.slice(0, good.length / 2)],
    ['of two parts', () => good.slice(0, good.lastIndexOf('.'))],
    ['of four parts', () => `${good}.${partsOf(good).signature}`],
    ['of five parts', () => `${good}.AA.AA`],
    [
      'with a changed payload',
      () => {
        const { header, signature } = partsOf(good);
        return `${header}.${partsOf(issuer.forge({ sub: 'admin' })).payload}.${signature}`;
      },
    ],
    ['that must be understood, and is not', () => issuer.forge({}, { crit: ['plants'], plants: true })],
    ['with an unencoded payload', () => issuer.forge({}, { crit: ['b64'], b64: false })],
    ['that is something else of the issuer', () => issuer.forge({}, { typ: 'logout+jwt' })],
    ['within a JWT', () => issuer.forge(good, { cty: 'JWT' })],
    ['of null', () => issuer.forge('null')],
    ['of a list', () => issuer.forge('[]')],
    ['of no JSON', () => issuer.forge('{"iss":')],
    ['of lists within lists', () => issuer.forge(NESTED)],
    ['with a header of null', () => `${base64url('null')}.${partsOf(good).payload}.${partsOf(good).signature}`],
    ['with a header of no JSON', () => `${base64url('\xff')}.${partsOf(good).payload}.${partsOf(good).signature}`],
    [
      'with claims from the prototype',
      () =>
        issuer.forge(`{"__proto__":${JSON.stringify({ iss: issuer.url, aud: AUDIENCE, sub: 'a', exp: NOW + 600 })}}`),
    ],
    ['of nothing but dots and letters', () => 'a.b.c'],
  ])('should refuse one %s', async (_, make) => {
    const response = await createWith(store, make());

    expectRefusal(response, 40101, 'contract');
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
    expect(await outcomeOf(store, good)).toBe(200);
  });

  it('should accept a long one that Node.js lets through', async () => {
    const token = issuer.forge({ groups: 'x'.repeat(11_000) });
    expect(token.length).toBeGreaterThan(14_900);
    expect(await outcomeOf(store, token)).toBe(200);
    expect(await outcomeOf(store, token)).toBe(200);
    expect(await outcomeOf(store, token.slice(0, -4))).toBe(40101);
  });

  it('should have Node.js refuse one of 100 kB', async () => {
    const response = await createWith(store, issuer.forge({ groups: 'x'.repeat(75_000) }));
    expectRefusal(response, 43100, 'contract');
    expect(await outcomeOf(store, TOKEN)).toBe(200);
  });
});
