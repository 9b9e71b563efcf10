import { Logger } from '@nestjs/common';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { reasonOf } from '../../util/text.js';
import { discoverJwksUrl } from './discover-jwks-url.js';
import { fetchText } from './fetch-text.js';
import { IssuerKeysError } from './issuer-keys.error.js';
import type { JwtOptions } from '../auth.options.js';
import { KeySet } from './key-set.js';
import { hasUsableKey } from './usable-key.js';

/** When keys are fetched; all in milliseconds. */
export const KEYS_TIMING = {
  /** Until they are fetched anew, so that a key that the issuer has removed stops counting. */
  refresh: 600_000,
  /** The same, where they could not be fetched. */
  retry: 30_000,
  /** Between the end of a fetch and the next one that a JWT with an unknown key may bring about. */
  cooldown: 5000,
  /** For all answers of the issuer that a fetch takes. */
  timeout: 5000,
};

/**
 * The public keys of an issuer, fetched when the first is needed. They are kept while the issuer is away, which `createRemoteJWKSet` of
 * jose does not do, and however many JWTs with unknown keys come, the issuer is asked no more than once at a time and in a while.
 */
export class IssuerKeys {
  private readonly logger = new Logger('JWT');
  private readonly closing = new AbortController();
  private keySet: KeySet | undefined;
  private failure: IssuerKeysError | undefined;
  private fetching: Promise<void> | undefined;
  private quietUntil = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: Pick<JwtOptions, 'issuer' | 'jwksUrl'>,
    private readonly timing = KEYS_TIMING,
  ) {}

  /** The keys that are known now. */
  get current(): KeySet | undefined {
    return this.keySet;
  }

  /**
   * Keys other than these, or nothing where the issuer has none; fetched unless that was done a moment ago.
   *
   * @throws IssuerKeysError where the last fetch has failed, so that it can't be told
   */
  async otherThan(known: KeySet | undefined): Promise<KeySet | undefined> {
    if (this.keySet === known) await this.update();
    if (this.keySet !== known) return this.keySet;
    if (this.failure) throw this.failure;
    return undefined;
  }

  /** Nothing is fetched any more. */
  close(): void {
    this.closing.abort();
    clearTimeout(this.timer);
  }

  /** Fetches the keys, or waits for those who do so; not at all where it was done a moment ago. */
  private async update(): Promise<void> {
    if (this.fetching === undefined && performance.now() < this.quietUntil) return;
    this.fetching ??= this.fetch().finally(() => {
      this.fetching = undefined;
      this.quietUntil = performance.now() + this.timing.cooldown;
    });
    await this.fetching;
  }

  private async fetch(): Promise<void> {
    clearTimeout(this.timer);
    const timeUp = AbortSignal.timeout(this.timing.timeout);
    try {
      this.take(await this.fetchKeySet(AbortSignal.any([timeUp, this.closing.signal])));
    } catch (error) {
      this.fail(timeUp.aborted ? `no answer in ${this.timing.timeout} ms` : reasonOf((error as Error).cause ?? error));
    }
    if (this.closing.signal.aborted) return;
    this.timer = setTimeout(
      () => {
        this.quietUntil = -Infinity;
        void this.update();
      },
      this.failure ? this.timing.retry : this.timing.refresh,
    ).unref();
  }

  private async fetchKeySet(signal: AbortSignal): Promise<KeySet> {
    const jose = await import('jose');
    const url = this.options.jwksUrl ?? (await discoverJwksUrl(this.options.issuer, signal));
    const source = await fetchText(url, signal);
    const find = findIn(source, jose);
    if (find === undefined) throw new Error(`${url} answers with something else than a JSON Web Key Set`);
    // Most likely a mistake at the issuer, and the keys that are known are better than none.
    if (!(await hasUsableKey(find, jose))) {
      throw new Error(`${url} answers with no public key that JWTs can be verified with`);
    }
    return new KeySet(source, find);
  }

  private take(keySet: KeySet): void {
    if (keySet.source !== this.keySet?.source) this.keySet = keySet;
    if (this.failure) this.logger.log(`The keys of the JWT issuer ${this.options.issuer} can be fetched again`);
    this.failure = undefined;
  }

  private fail(reason: string): void {
    const failure = new IssuerKeysError(this.options.issuer, reason);
    if (!this.failure && !this.closing.signal.aborted) {
      const meanwhile = this.keySet ? 'the ones known go on being used' : 'JWTs are answered with 50300';
      this.logger.warn(`${failure.message}; until they can, ${meanwhile}`);
    }
    this.failure = failure;
  }
}

function findIn(source: string, { createLocalJWKSet }: typeof import('jose')): JWTVerifyGetKey | undefined {
  try {
    return createLocalJWKSet(JSON.parse(source) as JSONWebKeySet);
  } catch {
    return undefined;
  }
}
