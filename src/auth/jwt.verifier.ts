import type { JWTPayload, ProtectedHeaderParameters } from 'jose';
import { credentialUndecided } from '../errors/api-error.js';
import { escapeControls, quote, reasonOf } from '../util/text.js';
import type { JwtOptions } from './auth.options.js';
import { tokenDigest } from './token-format.js';
import { MAX_PRINCIPAL_NAME_LENGTH, noteRefusal, type Principal, TokenVerifier } from './token-verifier.js';

type Jose = typeof import('jose');
type KeySet = ReturnType<Jose['createRemoteJWKSet']>;

/** RFC 7515, section 3.1: header, payload and signature, in base64url. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Algorithms with a public key. With a shared secret, who knows the public key could sign. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** The `typ` of RFC 9068 alone, or that of RFC 7519 too. A `logout+jwt`, for example, is no access token. */
const STRICT_TYPE = /^(?:application\/)?at\+jwt$/i;
const TYPE = /^$|^(?:application\/)?(?:at\+)?jwt$/i;
/** The most seconds by which clocks may differ. */
const TOLERANCE_S = 30;
/** Keys are fetched again after this time at the latest. */
const KEYS_MAX_AGE_MS = 3_600_000;
/** The pause between two fetches, and the time limit of each. */
const FETCH_MS = 5000;
/** The most time and the most entries of the cache of verified JWTs. */
const CACHE_MS = 300_000;
const MAX_CACHED = 10_000;

/** The keys cannot be fetched, so nobody knows whether a JWT is valid. */
class IssuerError extends Error {}

/** Loads the library. A service that reads no JWT does not. @throws where it cannot be loaded, and says what does */
export function loadJose(): Promise<Jose> {
  return import('jose').catch((cause: unknown) => {
    const advice = 'In Jest before Node.js 24.9 it has to be transformed: docs/embedding.md has the lines';
    throw new Error(`jose, which reads JWTs, cannot be loaded. ${advice}`, { cause });
  });
}

/** Accepts JWTs of one issuer. */
export class JwtVerifier extends TokenVerifier {
  private keySet: Promise<KeySet> | undefined;
  private failure: IssuerError | undefined;
  private fetchBegunAt = -Infinity;
  private nextFetchAt = -Infinity;
  /** By digest, so that a memory dump shows fewer tokens. */
  private readonly cache = new Map<string, Readonly<{ principal: Principal; until: number }>>();

  constructor(
    private readonly options: JwtOptions,
    private readonly jose: Jose,
  ) {
    super();
  }

  verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined {
    if (!JWT.test(token)) return undefined;
    const found = this.cache.get(tokenDigest(token));
    return found && Date.now() < found.until ? found.principal : this.verifyJwt(token, request);
  }

  private async verifyJwt(token: string, request: unknown): Promise<Principal | undefined> {
    const { decodeJwt, decodeProtectedHeader, errors } = this.jose;
    const since = performance.now();
    let fault: string | undefined;
    let pause = 0;
    try {
      fault = faultWithoutKeys(decodeProtectedHeader(token), decodeJwt(token), this.options);
      if (fault === undefined) return this.cachePrincipal(token, await this.verifySignature(token));
    } catch (error) {
      if (error instanceof IssuerError || error instanceof errors.JWKSInvalid) throw error;
      // The messages of jose may repeat parts of the token, so its codes are used.
      fault = error instanceof errors.JOSEError ? error.code : reasonOf(error);
      const isUnknownKey = error instanceof errors.JWKSNoMatchingKey;
      if (isUnknownKey || error instanceof errors.JWSSignatureVerificationFailed) {
        const { kid } = decodeProtectedHeader(token);
        if (isUnknownKey) pause = await this.pauseUntilFetch(kid, since);
        const found = quote(kid ?? 'without a name');
        fault = isUnknownKey
          ? `kid is ${found}, should be that of a key of the issuer`
          : `it was not signed with the key ${found}`;
      }
    }
    noteRefusal(request, `A JWT was refused: ${fault}`);
    if (pause > 0) throw credentialUndecided(undefined, pause);
    return undefined;
  }

  /** Seconds until the next fetch, if the issuer may have made the key after the last one; else 0. */
  private async pauseUntilFetch(kid: string | undefined, since: number): Promise<number> {
    const keys = (await this.keySet)?.jwks()?.keys ?? [];
    if (kid === undefined || keys.some((key) => key.kid === kid) || this.fetchBegunAt >= since) return 0;
    return Math.max(1, Math.ceil((this.nextFetchAt - performance.now()) / 1000));
  }

  private async verifySignature(token: string): Promise<JWTPayload> {
    const { decodeProtectedHeader, errors, jwtVerify } = this.jose;
    this.keySet ??= this.openKeySet();
    const keys = await this.keySet.catch((error: unknown) => {
      this.keySet = undefined;
      throw error;
    });
    const { issuer, audience } = this.options;
    const rules = { issuer, audience: [audience].flat(), algorithms: ALGORITHMS, clockTolerance: TOLERANCE_S };
    const isNamed = decodeProtectedHeader(token).kid !== undefined;
    try {
      return (await jwtVerify(token, keys, rules)).payload;
    } catch (error) {
      if (isNamed && error instanceof errors.JWKSMultipleMatchingKeys) {
        // Several keys may have the same name (RFC 7517, section 4.5). Without a name, it would be a guess.
        for await (const key of error) {
          const verified = await jwtVerify(token, key, rules).catch(() => undefined);
          if (verified) return verified.payload;
        }
        throw new errors.JWSSignatureVerificationFailed();
      }
      // jose fetches keys again for an unknown `kid`. Without a `kid`, a new key looks like a forged signature.
      const isForged = error instanceof errors.JWSSignatureVerificationFailed;
      if (!isForged || isNamed || keys.coolingDown) throw error;
      await keys.reload();
      return (await jwtVerify(token, keys, rules)).payload;
    }
  }

  private cachePrincipal(token: string, { sub = '', exp = 0, ...claims }: JWTPayload): Principal {
    // The prefix separates it from the names of issued tokens.
    const principal = Object.freeze({ name: `jwt:${sub}`, scopes: Object.freeze(scopesOf(claims)) });
    const until = Math.min((exp + TOLERANCE_S) * 1000, Date.now() + CACHE_MS);
    const [oldest] = this.cache.keys();
    if (oldest !== undefined && this.cache.size >= MAX_CACHED) this.cache.delete(oldest);
    this.cache.set(tokenDigest(token), { principal, until });
    return principal;
  }

  private async openKeySet(): Promise<KeySet> {
    const { createRemoteJWKSet, customFetch } = this.jose;
    return createRemoteJWKSet(new URL(this.options.jwksUrl ?? (await this.discoverJwksUrl())), {
      cacheMaxAge: KEYS_MAX_AGE_MS,
      cooldownDuration: FETCH_MS,
      timeoutDuration: FETCH_MS,
      [customFetch]: async (url: string, init: RequestInit) => Response.json(await this.fetchJson(url, init)),
    });
  }

  /** OpenID Connect Discovery 1.0, section 4. */
  private async discoverJwksUrl(): Promise<string> {
    const { issuer } = this.options;
    const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
    const init: RequestInit = { redirect: 'manual', signal: AbortSignal.timeout(FETCH_MS) };
    const document = Object(await this.fetchJson(url, init)) as Record<string, unknown>;
    const { issuer: named, jwks_uri: jwksUrl } = document;
    // Section 4.3 requires the exact issuer, or the keys could be those of somebody else.
    if (named !== issuer) throw this.fail(`${url} names the issuer ${quote(named)}, should name ${quote(issuer)}`);
    const scheme = /^https:/i.test(issuer) ? 'https:' : 'http';
    if (typeof jwksUrl === 'string' && URL.canParse(jwksUrl) && jwksUrl.startsWith(scheme)) return jwksUrl;
    throw this.fail(`${url} has the jwks_uri ${quote(jwksUrl)}, should have a URL, with https as the issuer's`);
  }

  /** Redirects are not followed: the keys are trusted because of their address. */
  private async fetchJson(url: string, init: RequestInit): Promise<unknown> {
    if (this.failure && performance.now() < this.nextFetchAt) throw this.failure;
    this.failure = undefined;
    this.fetchBegunAt = performance.now();
    try {
      const response = await fetch(url, init);
      if (response.status !== 200)
        throw new Error(`${url} answers ${response.status}, should answer 200; redirects are not followed`);
      const value: unknown = await response.json();
      this.nextFetchAt = performance.now() + FETCH_MS;
      return value;
    } catch (error) {
      throw this.fail(reasonOf((error as Error).cause ?? error));
    }
  }

  /** Stops fetching for a while. jose counts its cool-down from the last success, so each JWT would cause a fetch. */
  private fail(reason: string): IssuerError {
    this.nextFetchAt = performance.now() + FETCH_MS;
    this.failure = new IssuerError(`The keys of the JWT issuer ${this.options.issuer} cannot be fetched: ${reason}`);
    return this.failure;
  }
}

/** Checks a JWT without keys. Most wrong tokens fail here, so they cause no fetch of keys. */
function faultWithoutKeys(
  { alg = '', typ }: ProtectedHeaderParameters,
  { iss, aud, sub, exp, nbf = 0, cnf }: JWTPayload,
  options: JwtOptions,
): string | undefined {
  const now = Math.floor(Date.now() / 1000);
  const [earliest, latest] = [now - TOLERANCE_S, now + TOLERANCE_S];
  const audiences: unknown[] = [options.audience].flat();
  const checks: [name: string, found: unknown, isRight: boolean, expected: string][] = [
    ['alg', alg, ALGORITHMS.includes(alg), `one of ${ALGORITHMS.join(', ')}`],
    ['typ', typ, (options.typ ? STRICT_TYPE : TYPE).test(typ ?? ''), options.typ ?? 'at+jwt, JWT or none'],
    ['iss', iss, iss === options.issuer, options.issuer],
    ['aud', aud, [aud].flat().some((one) => audiences.includes(one)), audiences.join(' or ')],
    ['sub', sub, isStorableSubject(sub), 'a text that can be stored and logged'],
    ['exp', exp, typeof exp === 'number' && exp > earliest, `a number larger than ${earliest}`],
    ['nbf', nbf, typeof nbf === 'number' && nbf <= latest, `a number, at most ${latest}`],
    // RFC 7800: such a token needs a proof of its key, which a bearer token does not carry.
    ['cnf', cnf, cnf === undefined, 'left out'],
  ];
  const [name, found, , expected] = checks.find(([, , isRight]) => !isRight) ?? [];
  // A client controls the value, so its `toString` is not called.
  const shown = typeof found === 'string' ? found : JSON.stringify(found);
  return name && `${name} is ${found === undefined ? 'missing' : quote(shown)}, should be ${expected}`;
}

function isStorableSubject(sub: unknown): boolean {
  if (typeof sub !== 'string' || sub === '' || `jwt:${sub}`.length > MAX_PRINCIPAL_NAME_LENGTH) return false;
  return sub.isWellFormed() && escapeControls(sub) === sub;
}

/** `scope` has words separated by spaces (RFC 8693, section 4.2). Some issuers send a list, or call it `scp`. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const words = [scope, scp].flat().flatMap((claim) => (typeof claim === 'string' ? claim.split(' ') : []));
  return [...new Set(words)].filter((word) => word !== '');
}
