import { Logger } from '@nestjs/common';
import type { FetchImplementation, JSONWebKeySet } from 'jose';
import { isHttpUrl, quote, reasonOf } from '../../util/text.js';
import type { JwtOptions } from '../auth.options.js';
import { ALGORITHMS, type Jose } from './jwt-rules.js';

type Fetch = Parameters<FetchImplementation>[1];
/** Finds the key that a JWT is signed with, and fetches the keys anew for one that it does not know. */
export type FindKey = ReturnType<Jose['createRemoteJWKSet']>;

/** When keys are fetched. */
export const KEYS_TIMING = {
  /** Keys are fetched this often, so that one that the issuer has removed stops counting. */
  refreshMs: 600_000,
  /** After a failure they are fetched again this soon. */
  retryMs: 30_000,
  /** After a fetch, failed or not, an unknown key causes no other fetch for this long. */
  cooldownMs: 5000,
  /** For a fetch, discovery included. */
  timeoutMs: 5000,
  /** Known keys outlive an issuer that is away for this long. */
  maxAgeMs: 86_400_000,
};

/** Far more than the keys of any issuer take. */
const MAX_BYTES = 1_048_576;
/** RFC 7518, section 3.3. jose refuses shorter keys only when it verifies with one. */
const MIN_RSA_BITS = 2048;

/** The keys of a JWT issuer cannot be fetched now; the message says why. */
export class IssuerKeysError extends Error {
  override readonly name = 'IssuerKeysError';

  /** @param reason in one line, without anything of a token */
  constructor(issuer: string, reason: string) {
    super(`The keys of the JWT issuer ${issuer} cannot be fetched: ${reason}`);
    // It is logged with each request that needs the keys, and where it was made says nothing.
    this.stack = `${this.name}: ${this.message}`;
  }
}

/**
 * The public keys of an issuer, in a key set of jose that fetches them when the first is needed. What jose leaves open is done here:
 * discovery, what an answer must be, and that a failed fetch is repeated neither at once nor in vain.
 */
export class IssuerKeys {
  private readonly logger = new Logger('JWT');
  private readonly closing = new AbortController();
  private opening: Promise<FindKey> | undefined;
  private find: FindKey | undefined;
  /** jose puts the keys here at the moment from which on it uses them. */
  private readonly inUse: { jwks?: JSONWebKeySet } = {};
  private jwks: JSONWebKeySet | undefined;
  private text: string | undefined;
  private failure: IssuerKeysError | undefined;
  private quietUntil = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: Pick<JwtOptions, 'issuer' | 'jwksUrl'>,
    private readonly timing = KEYS_TIMING,
  ) {}

  /** The keys in use, as text: it is the same as long as they are. Nothing before the first are fetched, nor when they are too old. */
  get current(): string | undefined {
    if (this.find?.fresh !== true) return undefined;
    const { jwks } = this.inUse;
    if (jwks !== this.jwks) {
      this.jwks = jwks;
      this.text = JSON.stringify(jwks);
    }
    return this.text;
  }

  /** @throws IssuerKeysError if there are no keys yet, and they cannot be fetched */
  async open(): Promise<FindKey> {
    this.opening ??= this.createKeySet();
    const find = await this.opening;
    if (!find.fresh) await find.reload();
    return find;
  }

  /** Nothing is fetched any more. */
  close(): void {
    this.closing.abort();
    clearTimeout(this.timer);
  }

  private async createKeySet(): Promise<FindKey> {
    const jose = await import('jose');
    const { cooldownMs, timeoutMs, maxAgeMs } = this.timing;
    const { issuer, jwksUrl } = this.options;
    const find = jose.createRemoteJWKSet(new URL(jwksUrl ?? discoveryUrl(issuer)), {
      cooldownDuration: cooldownMs,
      timeoutDuration: timeoutMs,
      cacheMaxAge: maxAgeMs,
      [jose.jwksCache]: this.inUse as Record<string, never>,
      [jose.customFetch]: (_url, init) => this.fetch(init, find, jose),
    });
    this.find = find;
    return find;
  }

  private async fetch(init: Fetch, find: FindKey, jose: Jose): Promise<Response> {
    // The cool-down of jose counts from the last success.
    if (this.failure && performance.now() < this.quietUntil) throw this.failure;
    clearTimeout(this.timer);
    try {
      const signal = AbortSignal.any([init.signal, this.closing.signal]);
      const url = this.options.jwksUrl ?? (await discoverJwksUrl(this.options.issuer, { ...init, signal }));
      const document = await fetchJson(url, { ...init, signal });
      // Most likely a mistake at the issuer, and the known keys are better than no keys.
      if (!(await hasUsableKey(document, jose)))
        throw new Error(`${url} answers with no public key that JWTs can be verified with`);
      if (this.failure) this.logger.log(`The keys of the JWT issuer ${this.options.issuer} can be fetched again`);
      this.failure = undefined;
      return Response.json(document);
    } catch (error) {
      const { timeoutMs } = this.timing;
      const reason = init.signal.aborted ? `no answer in ${timeoutMs} ms` : reasonOf((error as Error).cause ?? error);
      throw this.failed(reason);
    } finally {
      // By a timer, not with the next request: a removed key would go on counting at an idle service.
      const reload = (): void => void find.reload().catch(() => undefined);
      const delay = this.failure ? this.timing.retryMs : this.timing.refreshMs;
      if (!this.closing.signal.aborted) this.timer = setTimeout(reload, delay).unref();
    }
  }

  private failed(reason: string): IssuerKeysError {
    const failure = new IssuerKeysError(this.options.issuer, reason);
    if (!this.failure && !this.closing.signal.aborted) {
      const meanwhile = this.current === undefined ? 'JWTs are answered with 50300' : 'the ones known go on being used';
      this.logger.warn(`${failure.message}; until they can, ${meanwhile}`);
    }
    this.failure = failure;
    this.quietUntil = performance.now() + this.timing.cooldownMs;
    return failure;
  }
}

/** OpenID Connect Discovery 1.0, section 4.1: a slash at the end of the issuer goes. */
function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
}

async function discoverJwksUrl(issuer: string, init: Fetch): Promise<string> {
  const url = discoveryUrl(issuer);
  const document = Object(await fetchJson(url, init)) as Record<string, unknown>;
  // Section 4.3: exactly, or the keys would be those of somebody else.
  if (document.issuer !== issuer)
    throw new Error(`${url} names the issuer ${quote(document.issuer)}, should name ${quote(issuer)}, exactly so`);
  const { jwks_uri: jwksUrl } = document;
  if (!isHttpUrl(jwksUrl, { query: true }))
    throw new Error(`${url} has the jwks_uri ${quote(jwksUrl)}, should have an http or https URL`);
  if (/^https:/i.test(issuer) && !/^https:/i.test(jwksUrl))
    throw new Error(`${url} has the jwks_uri ${quote(jwksUrl)}, should have an https URL, as the issuer's is`);
  return jwksUrl;
}

/** What a URL answers with, as long as it is a 200 of a sane size. */
async function fetchJson(url: string, init: Fetch): Promise<unknown> {
  // jose has asked for redirects not to be followed: keys are trusted because of where they are from.
  const response = await fetch(url, init);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answers ${response.status}, should answer 200; redirects are not followed`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`${url} answers with more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder().decode(Buffer.concat(chunks)));
  } catch {
    throw new Error(`${url} answers with something else than JSON`);
  }
}

/** Whether any JWT can be verified with these keys: they may be private, short, broken or for something else, or there may be no key. */
async function hasUsableKey(document: unknown, { createLocalJWKSet }: Jose): Promise<boolean> {
  const { keys } = createLocalJWKSet(document as JSONWebKeySet).jwks();
  for (const key of keys) {
    const find = createLocalJWKSet({ keys: [key] });
    for (const alg of ALGORITHMS) {
      const found = await find({ alg }).catch(() => undefined);
      const { modulusLength = MIN_RSA_BITS } = Object(found?.algorithm) as { modulusLength?: number };
      if (found && modulusLength >= MIN_RSA_BITS) return true;
    }
  }
  return false;
}
