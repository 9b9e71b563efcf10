import { Logger } from '@nestjs/common';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import { describeFound } from '../util/options.js';
import { escapeControls, isHttpUrl, quote, reasonOf } from '../util/text.js';
import type { JwtOptions } from './auth.options.js';
import { tokenKey } from './token-format.js';
import { type Principal, TokenVerifier } from './token-verifier.js';

type Jose = typeof import('jose');
type KeySet = ReturnType<Jose['createRemoteJWKSet']>;

/** RFC 7515, section 3.1: header, payload and signature, in base64url. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Signatures that are verified with a public key alone: with a secret one, anybody who knows the public key could sign. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** The `typ` of access tokens by RFC 9068, and by RFC 7519; `logout+jwt`, for example, is something else. */
const STRICT_TYPES: unknown[] = ['at+jwt', 'application/at+jwt'];
const TYPES: unknown[] = [...STRICT_TYPES, 'jwt', 'application/jwt', undefined];
/** Clocks may differ by so much. */
const TOLERANCE_S = 30;
const MAX_NAME_LENGTH = 255;
/** So long keys are used before they are fetched again, whatever happens at the issuer. */
const KEYS_MAX_AGE_MS = 3_600_000;
/** From one fetch, failed or not, to the next. */
const COOLDOWN_MS = 5000;
const FETCH_TIMEOUT_MS = 5000;
/** A JWT is remembered for so long, and so many of them are. */
const REMEMBER_MS = 300_000;
const MAX_REMEMBERED = 10_000;

/** The keys of the issuer cannot be fetched, so that nothing can be said of a JWT. */
class IssuerError extends Error {}

/** Accepts JWTs of one issuer. */
export class JwtVerifier extends TokenVerifier {
  private readonly logger = new Logger(JwtVerifier.name);
  private readonly rules: JWTVerifyOptions;
  private keySet: Promise<KeySet> | undefined;
  private failure: IssuerError | undefined;
  private quietUntil = 0;
  /** By their digests: a memory dump should hold as few tokens as possible. */
  private readonly remembered = new Map<string, Readonly<{ principal: Principal; until: number }>>();

  constructor(private readonly options: JwtOptions) {
    super();
    const { issuer, audience } = options;
    const requiredClaims = ['exp', 'sub'];
    const algorithms = ALGORITHMS;
    this.rules = { issuer, audience: [audience].flat(), algorithms, requiredClaims, clockTolerance: TOLERANCE_S };
  }

  verify(token: string): Promise<Principal | undefined> | Principal | undefined {
    if (!JWT.test(token)) return undefined;
    const found = this.remembered.get(tokenKey(token));
    return found && Date.now() < found.until ? found.principal : this.verifyJwt(token);
  }

  private async verifyJwt(token: string): Promise<Principal | undefined> {
    // With its first use, so that a service that sees no JWT does not pay for it.
    const jose = await import('jose');
    let fault = evidentFault(token, this.options, jose);
    try {
      if (fault === undefined) return this.remember(token, await this.verifySignature(token, jose));
    } catch (error) {
      if (error instanceof IssuerError || error instanceof jose.errors.JWKSInvalid) throw error;
      fault = signatureFault(error, token, jose);
    }
    // For the operator alone: the client learns only that it is not valid.
    this.logger.log(`A JWT was refused: ${fault}`);
    return undefined;
  }

  private async verifySignature(token: string, jose: Jose): Promise<JWTPayload> {
    this.keySet ??= this.openKeySet(jose);
    const keys = await this.keySet;
    try {
      return await this.claimsOf(token, keys, jose);
    } catch (error) {
      // jose itself fetches keys for a name that it does not know. A new key without a name looks like a forged signature.
      const isForged = error instanceof jose.errors.JWSSignatureVerificationFailed;
      if (!isForged || jose.decodeProtectedHeader(token).kid !== undefined || keys.coolingDown) throw error;
      await keys.reload();
      return await this.claimsOf(token, keys, jose);
    }
  }

  private async claimsOf(token: string, keys: KeySet, { errors, jwtVerify }: Jose): Promise<JWTPayload> {
    try {
      return (await jwtVerify(token, keys, this.rules)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // It does not name its key.
      for await (const key of error) {
        const verified = await jwtVerify(token, key, this.rules).catch(() => undefined);
        if (verified) return verified.payload;
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  private remember(token: string, { sub = '', exp = 0, ...claims }: JWTPayload): Principal {
    // Not the name of an issued token, which has no such prefix.
    const principal = Object.freeze({ name: `jwt:${sub}`, scopes: Object.freeze(scopesOf(claims)) });
    const until = Math.min((exp + TOLERANCE_S) * 1000, Date.now() + REMEMBER_MS);
    const [oldest] = this.remembered.keys();
    if (oldest !== undefined && this.remembered.size >= MAX_REMEMBERED) this.remembered.delete(oldest);
    this.remembered.set(tokenKey(token), { principal, until });
    return principal;
  }

  private async openKeySet({ createRemoteJWKSet, customFetch }: Jose): Promise<KeySet> {
    const { issuer, jwksUrl } = this.options;
    try {
      const url = jwksUrl ?? (await this.ask(() => discoverJwksUrl(issuer)));
      return createRemoteJWKSet(new URL(url), {
        cacheMaxAge: KEYS_MAX_AGE_MS,
        cooldownDuration: COOLDOWN_MS,
        timeoutDuration: FETCH_TIMEOUT_MS,
        [customFetch]: (address: string, init: RequestInit) =>
          this.ask(async () => Response.json(await fetchJson(address, init))),
      });
    } catch (error) {
      this.keySet = undefined;
      throw error;
    }
  }

  /** jose's own cool-down counts from the last success: an issuer that fails would be asked for each JWT. */
  private async ask<T>(work: () => Promise<T>): Promise<T> {
    if (this.failure && performance.now() < this.quietUntil) throw this.failure;
    try {
      const result = await work();
      this.failure = undefined;
      return result;
    } catch (error) {
      const reason = reasonOf((error as Error).cause ?? error);
      this.failure = new IssuerError(`The keys of the JWT issuer ${this.options.issuer} cannot be fetched: ${reason}`);
      this.quietUntil = performance.now() + COOLDOWN_MS;
      throw this.failure;
    }
  }
}

/** What is wrong with a JWT, as far as it shows without keys. Most strange tokens end here, and are not worth fetching keys for. */
function evidentFault(token: string, options: JwtOptions, jose: Jose): string | undefined {
  try {
    const { alg = '', typ } = jose.decodeProtectedHeader(token);
    const { iss, aud, sub, exp, nbf = -Infinity, cnf } = jose.decodeJwt(token);
    const now = Math.floor(Date.now() / 1000);
    const types = options.typ === undefined ? TYPES : STRICT_TYPES;
    const audiences: unknown[] = [options.audience].flat();
    const checks: [name: string, found: unknown, isRight: boolean, expected: string][] = [
      ['alg', alg, ALGORITHMS.includes(alg), `one of ${ALGORITHMS.join(', ')}`],
      [
        'typ',
        typ,
        types.includes(typeof typ === 'string' ? typ.toLowerCase() : typ),
        options.typ ?? 'at+jwt, JWT or none',
      ],
      ['iss', iss, iss === options.issuer, options.issuer],
      ['aud', aud, [aud].flat().some((one) => audiences.includes(one)), audiences.join(' or ')],
      ['sub', sub, isFit(sub), 'a text that can be stored and logged'],
      ['exp', exp, typeof exp === 'number' && exp > now - TOLERANCE_S, `a number larger than ${now - TOLERANCE_S}`],
      ['nbf', nbf, typeof nbf === 'number' && nbf <= now + TOLERANCE_S, `a number, at most ${now + TOLERANCE_S}`],
      // RFC 7800: it is worth nothing without a proof of that key, which a bearer token does not come with.
      ['cnf', cnf, cnf === undefined, 'left out'],
    ];
    const wrong = checks.find(([, , isRight]) => !isRight);
    return wrong && `${wrong[0]} ${describeFound(wrong[1], true)}, should be ${wrong[3]}`;
  } catch {
    return 'it is malformed';
  }
}

/** What is wrong with the signature. Messages of jose may repeat some of the token; other errors are of keys that cannot be used. */
function signatureFault(error: unknown, token: string, { decodeProtectedHeader, errors }: Jose): string {
  const { kid } = decodeProtectedHeader(token);
  if (error instanceof errors.JWKSNoMatchingKey) return `kid is ${quote(kid)}, should be that of a key of the issuer`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return `it was not signed with the key ${quote(kid)}`;
  return error instanceof errors.JOSEError ? error.code : reasonOf(error);
}

function isFit(sub: unknown): boolean {
  if (typeof sub !== 'string' || sub === '' || `jwt:${sub}`.length > MAX_NAME_LENGTH) return false;
  return sub.isWellFormed() && escapeControls(sub) === sub;
}

/** RFC 8693, section 4.2: scopes, separated by spaces. Some issuers have a list, `scp`. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const wordsOf = (claim: unknown): string[] =>
    typeof claim === 'string' ? claim.split(' ').filter((word) => word !== '') : [];
  const isList = Array.isArray(scp) && scp.every((one) => typeof one === 'string');
  return [...new Set([...wordsOf(scope), ...(isList ? scp : wordsOf(scp))])];
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discoverJwksUrl(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  const document = Object(await fetchJson(url, { redirect: 'manual', signal })) as Record<string, unknown>;
  const { issuer: named, jwks_uri: jwksUrl } = document;
  // Section 4.3: exactly, or the keys would be those of somebody else.
  if (named !== issuer) throw new Error(`${url} names the issuer ${quote(named)}, should name ${quote(issuer)}`);
  const isSafe = !/^https:/i.test(issuer) || /^https:/i.test(String(jwksUrl));
  if (isHttpUrl(jwksUrl, { query: true }) && isSafe) return jwksUrl;
  throw new Error(`${url} has the jwks_uri ${quote(jwksUrl)}, should have a URL, with https as the issuer's`);
}

/** Redirects are not followed: keys are trusted because of where they are from. */
async function fetchJson(url: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, init);
  if (response.status === 200) return response.json();
  throw new Error(`${url} answers ${response.status}, should answer 200; redirects are not followed`);
}
