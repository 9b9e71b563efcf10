import type { JSONWebKeySet } from 'jose';
import { quote, reasonOf } from '../util/text.js';
import type { JwtOptions } from './auth.options.js';

export type Jose = typeof import('jose');
export type KeySet = ReturnType<Jose['createLocalJWKSet']>;

/** Keys are fetched again after this time at the latest. */
const KEYS_MAX_AGE_MS = 3_600_000;
/** The pause between two fetches, and the time limit of each. */
const FETCH_MS = 5000;

/** The keys cannot be fetched, so nobody knows whether a JWT is valid. */
export class IssuerError extends Error {
  readonly retryAt = performance.now() + FETCH_MS;
}

/** Loads the library. A service that reads no JWT does not. @throws where it cannot be loaded, and says what does */
export function loadJose(): Promise<Jose> {
  return import('jose').catch((cause: unknown) => {
    const advice = 'In Jest before Node.js 24.9 it has to be transformed: docs/embedding.md has the lines';
    throw new Error(`jose, which reads JWTs, cannot be loaded. ${advice}`, { cause });
  });
}

/**
 * The keys of an issuer, fetched when a JWT needs them, once for all that wait. `createRemoteJWKSet()` of jose makes no
 * pause after a failed fetch, and tells it from a bad token by nothing.
 */
export class IssuerKeys {
  private jwksUrl: string | undefined;
  private keySet: KeySet | undefined;
  private fetching: Promise<KeySet> | undefined;
  private fetchBegunAt = -Infinity;
  private fetchedAt = -Infinity;
  /** Why the last fetch failed. */
  private failure: IssuerError | undefined;

  constructor(
    private readonly options: JwtOptions,
    private readonly jose: Jose,
  ) {}

  /** @param maxAge milliseconds, but keys that were just fetched are not fetched again. @throws IssuerError */
  async get(maxAge = KEYS_MAX_AGE_MS): Promise<KeySet> {
    const now = performance.now();
    if (this.keySet && now < this.fetchedAt + Math.max(maxAge, FETCH_MS)) return this.keySet;
    if (this.failure && now < this.failure.retryAt) throw this.failure;
    return (this.fetching ??= this.fetchKeys().finally(() => (this.fetching = undefined)));
  }

  /** Milliseconds until the next fetch, if the issuer may have made the key after the last one; else 0. */
  pauseBeforeNewer(kid: string | undefined, since: number): number {
    const isKnown = this.keySet?.jwks().keys.some((key) => key.kid === kid);
    if (kid === undefined || isKnown || this.fetchBegunAt >= since) return 0;
    return Math.max(1, this.fetchedAt + FETCH_MS - performance.now());
  }

  private async fetchKeys(): Promise<KeySet> {
    const { issuer, jwksUrl } = this.options;
    this.failure = undefined;
    this.fetchBegunAt = performance.now();
    try {
      this.jwksUrl ??= jwksUrl ?? (await discoverJwksUrl(issuer));
      this.keySet = this.jose.createLocalJWKSet((await fetchJson(this.jwksUrl)) as unknown as JSONWebKeySet);
      this.fetchedAt = performance.now();
      return this.keySet;
    } catch (error) {
      const reason = reasonOf((error as Error).cause ?? error);
      this.failure = new IssuerError(`The keys of the JWT issuer ${issuer} cannot be fetched: ${reason}`);
      throw this.failure;
    }
  }
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discoverJwksUrl(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  const { issuer: named, jwks_uri: jwksUrl } = await fetchJson(url);
  // Section 4.3 requires the exact issuer, or the keys could be those of somebody else.
  if (named !== issuer) throw new Error(`${url} names the issuer ${quote(named)}, should name ${quote(issuer)}`);
  const scheme = /^https:/i.test(issuer) ? 'https:' : 'http';
  if (typeof jwksUrl === 'string' && URL.canParse(jwksUrl) && jwksUrl.startsWith(scheme)) return jwksUrl;
  throw new Error(`${url} has the jwks_uri ${quote(jwksUrl)}, should have a URL, with https as the issuer's`);
}

/** Redirects are not followed: the keys are trusted because of their address. */
async function fetchJson(url: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_MS) });
  if (response.status !== 200)
    throw new Error(`${url} answers ${response.status}, should answer 200; redirects are not followed`);
  return Object(await response.json()) as Record<string, unknown>;
}
