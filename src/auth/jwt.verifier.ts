import type { JWTPayload, ProtectedHeaderParameters } from 'jose';
import { credentialUndecided } from '../errors/api-error.js';
import { escapeControls, quote, reasonOf } from '../util/text.js';
import type { JwtOptions } from './auth.options.js';
import { IssuerError, IssuerKeys, type Jose, type KeySet } from './issuer-keys.js';
import { tokenDigest } from './token-format.js';
import { MAX_PRINCIPAL_NAME_LENGTH, noteRefusal, type Principal, TokenVerifier } from './token-verifier.js';

/** RFC 7515, section 3.1: header, payload and signature, in base64url. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Algorithms with a public key. With a shared secret, who knows the public key could sign. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** The `typ` of RFC 9068 alone, or that of RFC 7519 too. A `logout+jwt`, for example, is no access token. */
const STRICT_TYPE = /^(?:application\/)?at\+jwt$/i;
const TYPE = /^$|^(?:application\/)?(?:at\+)?jwt$/i;
/** The most seconds by which clocks may differ. */
const TOLERANCE_S = 30;
/** The most time and the most entries of the cache of verified JWTs. */
const CACHE_MS = 300_000;
const MAX_CACHED = 10_000;

/** Accepts JWTs of one issuer. */
export class JwtVerifier extends TokenVerifier {
  private readonly keys: IssuerKeys;
  /** By digest, so that a memory dump shows fewer tokens. */
  private readonly cache = new Map<string, Readonly<{ principal: Principal; until: number }>>();

  constructor(
    private readonly options: JwtOptions,
    private readonly jose: Jose,
  ) {
    super();
    this.keys = new IssuerKeys(options, jose);
  }

  verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined {
    if (!JWT.test(token)) return undefined;
    const digest = tokenDigest(token);
    const found = this.cache.get(digest);
    return found && Date.now() < found.until ? found.principal : this.verifyNew(token, digest, request);
  }

  private async verifyNew(token: string, digest: string, request: unknown): Promise<Principal | undefined> {
    const { decodeJwt, decodeProtectedHeader, errors } = this.jose;
    const arrivedAt = performance.now();
    try {
      const header = decodeProtectedHeader(token);
      checkWithoutKeys(header, decodeJwt(token), this.options);
      return this.remember(digest, await this.verifySignature(token, header.kid));
    } catch (error) {
      if (error instanceof IssuerError) throw error;
      noteRefusal(request, `A JWT was refused: ${this.explain(error, token)}`);
      if (!(error instanceof errors.JWKSNoMatchingKey)) return undefined;
      const pause = this.keys.pauseBeforeNewer(decodeProtectedHeader(token).kid, arrivedAt);
      if (pause > 0) throw credentialUndecided(undefined, Math.ceil(pause / 1000));
      return undefined;
    }
  }

  private explain(error: unknown, token: string): string {
    const { decodeProtectedHeader, errors } = this.jose;
    const key = (): string => quote(decodeProtectedHeader(token).kid ?? 'without a name');
    if (error instanceof errors.JWKSNoMatchingKey) return `kid is ${key()}, should be that of a key of the issuer`;
    if (error instanceof errors.JWSSignatureVerificationFailed) return `it was not signed with the key ${key()}`;
    // The messages of jose may repeat parts of the token, so its codes are used.
    return error instanceof errors.JOSEError ? error.code : reasonOf(error);
  }

  private async verifySignature(token: string, kid: string | undefined): Promise<JWTPayload> {
    const { errors } = this.jose;
    const keys = await this.keys.get();
    try {
      return await this.verifyWith(keys, token, kid);
    } catch (error) {
      // Without a `kid`, a new key looks like a forged signature.
      const isForged = kid === undefined && error instanceof errors.JWSSignatureVerificationFailed;
      if (!isForged && !(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newKeys = await this.keys.get(0);
      if (newKeys === keys) throw error;
      return this.verifyWith(newKeys, token, kid);
    }
  }

  private async verifyWith(keys: KeySet, token: string, kid: string | undefined): Promise<JWTPayload> {
    const { errors, jwtVerify } = this.jose;
    const { issuer, audience } = this.options;
    const rules = { issuer, audience: [audience].flat(), algorithms: ALGORITHMS, clockTolerance: TOLERANCE_S };
    try {
      return (await jwtVerify(token, keys, rules)).payload;
    } catch (error) {
      // Several keys may have the same name (RFC 7517, section 4.5). Without a name, it would be a guess.
      if (kid === undefined || !(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error) {
        const verified = await jwtVerify(token, key, rules).catch(() => undefined);
        if (verified) return verified.payload;
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  private remember(digest: string, { sub = '', exp = 0, ...claims }: JWTPayload): Principal {
    // The prefix separates it from the names of issued tokens.
    const principal = Object.freeze({ name: `jwt:${sub}`, scopes: Object.freeze(scopesOf(claims)) });
    const until = Math.min((exp + TOLERANCE_S) * 1000, Date.now() + CACHE_MS);
    const [oldest] = this.cache.keys();
    if (oldest !== undefined && this.cache.size >= MAX_CACHED) this.cache.delete(oldest);
    this.cache.set(digest, { principal, until });
    return principal;
  }
}

/**
 * Checks a JWT without keys. Most wrong tokens fail here, so they cause no fetch of keys.
 * @throws Error that says what is wrong
 */
function checkWithoutKeys(
  { alg = '', typ }: ProtectedHeaderParameters,
  { iss, aud, sub, exp, nbf = 0, cnf }: JWTPayload,
  options: JwtOptions,
): void {
  const now = Math.floor(Date.now() / 1000);
  const audiences: unknown[] = [options.audience].flat();
  check('alg', alg, ALGORITHMS.includes(alg), `one of ${ALGORITHMS.join(', ')}`);
  check('typ', typ, (options.typ ? STRICT_TYPE : TYPE).test(typ ?? ''), options.typ ?? 'at+jwt, JWT or none');
  check('iss', iss, iss === options.issuer, options.issuer);
  check(
    'aud',
    aud,
    [aud].flat().some((one) => audiences.includes(one)),
    audiences.join(' or '),
  );
  check('sub', sub, isStorableSubject(sub), 'a text that can be stored and logged');
  check('exp', exp, typeof exp === 'number' && exp > now - TOLERANCE_S, `a number larger than ${now - TOLERANCE_S}`);
  check('nbf', nbf, typeof nbf === 'number' && nbf <= now + TOLERANCE_S, `a number, at most ${now + TOLERANCE_S}`);
  // RFC 7800: such a token needs a proof of its key, which a bearer token does not carry.
  check('cnf', cnf, cnf === undefined, 'omitted');
}

function check(name: string, found: unknown, isRight: boolean, expected: string): void {
  if (isRight) return;
  // A client controls the value, so its `toString` is not called.
  const shown = typeof found === 'string' ? found : JSON.stringify(found);
  throw new Error(`${name} is ${found === undefined ? 'missing' : quote(shown)}, should be ${expected}`);
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
