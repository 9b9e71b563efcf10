import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DatabaseTimeoutError } from '../prisma/database.errors.js';
import { DEFAULT_STORAGE_TIMEOUT } from '../prisma/database.options.js';
import { mistypedToken } from '../errors/api-error.js';
import { quote, reasonOf } from '../util/text.js';
import { withTimeout } from '../util/timing.js';
import type { IssuedTokensOptions } from './auth.options.js';
import { isWellFormedToken, TOKEN_PREFIX, tokenKey } from './token-format.js';
import { TokenLookup, type TokenRow } from './token-lookup.js';
import { noteRefusal, type Principal, TokenVerifier } from './token-verifier.js';

/** A revocation takes effect within this time: a token is valid for so long after its confirmation. */
const MAX_CONFIRMATION_AGE_MS = 2000;
/** The pause between two confirmations of the tokens in use. */
const CONFIRM_EVERY_MS = 500;
/** The pause after a failure. */
const RETRY_MS = 100;
/** The longest wait for an answer of the database at the stop. */
const SHUTDOWN_TIMEOUT_MS = 1500;
/** The interval in which last uses are recorded and unused tokens forgotten. */
const RECORD_EVERY_MS = 60_000;

/** A token in use. Times are those of `performance.now()`. */
interface CachedToken {
  readonly id: number;
  readonly principal: Principal;
  /** When the database was asked, which is before it looked. -Infinity: the token is no longer valid. */
  readonly confirmedAt: number;
  readonly expiresAt: number;
  usedAt: number;
}

/** A request that waits for the look-up of its token. */
interface PendingLookUp {
  readonly key: string;
  /** The request of the platform, for the reason of a refusal. */
  readonly request: unknown;
  resolve: (principal: Principal | undefined) => void;
}

/**
 * Accepts issued tokens that are neither expired nor revoked. One loop confirms the tokens in use and looks up the
 * tokens that requests wait for. It sends one statement at a time, so no result replaces a newer one.
 */
export class IssuedTokenVerifier extends TokenVerifier implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(IssuedTokenVerifier.name);
  /** Tokens by key. The database had each of them; some may have ended since. */
  private readonly cache = new Map<string, CachedToken>();
  private readonly waiting = new Set<PendingLookUp>();
  private loop: Promise<void> | undefined;
  /** Ends the pause of the loop. */
  private wake = (): void => undefined;
  private confirmAt = 0;
  private recordAt = 0;
  /** Why the last statement failed. */
  private failure: Error | undefined;
  private isStopped = false;

  constructor(
    private readonly options: IssuedTokensOptions,
    private readonly store: Pick<TokenLookup, keyof TokenLookup> = new TokenLookup(options),
  ) {
    super();
  }

  verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined {
    if (!token.startsWith(TOKEN_PREFIX)) return undefined;
    const key = tokenKey(token);
    const known = this.cache.get(key);
    const now = performance.now();
    if (known && now < known.confirmedAt + MAX_CONFIRMATION_AGE_MS && now < known.expiresAt) {
      known.usedAt = now;
      return known.principal;
    }
    // This check costs more than the look into the cache, and no malformed token is in the cache.
    if (!isWellFormedToken(token)) throw mistypedToken();
    return this.lookUp(key, request);
  }

  /** Seconds until the first token in use expires; Infinity if none does. */
  get secondsToNextExpiry(): number {
    let soonest = Infinity;
    for (const { expiresAt } of this.cache.values()) soonest = Math.min(soonest, expiresAt);
    return (soonest - performance.now()) / 1000;
  }

  onModuleInit(): Promise<void> {
    return this.store.assertReady();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopped = true;
    this.wake();
    const timeUp = (): Error => new Error('the database does not answer');
    await withTimeout(this.store.end(), SHUTDOWN_TIMEOUT_MS, timeUp).catch(() => undefined);
  }

  private lookUp(key: string, request: unknown): Promise<Principal | undefined> {
    const { timeout = DEFAULT_STORAGE_TIMEOUT } = this.options;
    const lookUp: PendingLookUp = { key, request, resolve: () => undefined };
    const result = new Promise<Principal | undefined>((resolve) => (lookUp.resolve = resolve));
    this.waiting.add(lookUp);
    this.wake();
    this.loop ??= this.run();
    const timeUp = (): Error => this.failure ?? new DatabaseTimeoutError(`no answer within ${timeout} ms`);
    return withTimeout(result, timeout, timeUp).finally(() => this.waiting.delete(lookUp));
  }

  /** Runs while tokens are in use or requests wait. */
  private async run(): Promise<void> {
    while (!this.isStopped && this.cache.size + this.waiting.size > 0) {
      await this.queryTokens();
      if (performance.now() >= this.recordAt) await this.record();
      await this.pause();
    }
    this.loop = undefined;
  }

  private async queryTokens(): Promise<void> {
    const askedAt = performance.now();
    // Later requests wait for the next statement: a token may be revoked while this one runs.
    const requests = [...this.waiting];
    const isToConfirm = askedAt >= this.confirmAt;
    const keys = new Set([...requests.map(({ key }) => key), ...(isToConfirm ? this.cache.keys() : [])]);
    try {
      const rows = new Map((await this.store.find([...keys])).map((row) => [row.key, row]));
      if (isToConfirm) this.confirmAt = askedAt + CONFIRM_EVERY_MS;
      for (const key of keys) this.remember(key, rows.get(key), askedAt);
      for (const request of requests) this.answer(request, rows.get(request.key));
      if (this.failure) this.logger.log('Access tokens can be looked up again');
      this.failure = undefined;
    } catch (error) {
      const meanwhile = 'Until they can, requests with them wait, and are then answered with 50300';
      if (!this.failure) this.logger.warn(`Access tokens cannot be looked up: ${reasonOf(error)}. ${meanwhile}`);
      this.failure = error as Error;
    }
  }

  /** Keeps the answer of the database. A token that is no longer valid stays until its last use is recorded. */
  private remember(key: string, row: TokenRow | undefined, askedAt: number): void {
    const known = this.cache.get(key);
    if (row?.state === 'valid') {
      const { id, name, scopes, remaining } = row;
      const principal = Object.freeze({ name, scopes: Object.freeze(scopes) });
      const expiresAt = askedAt + (remaining ?? Infinity);
      this.cache.set(key, { id, principal, confirmedAt: askedAt, expiresAt, usedAt: known?.usedAt ?? askedAt });
    } else if (known) this.cache.set(key, { ...known, confirmedAt: -Infinity, expiresAt: Infinity });
  }

  private answer(lookUp: PendingLookUp, row: TokenRow | undefined): void {
    const { key, request, resolve } = lookUp;
    // The next statement may begin before the request goes on, and would look the token up again.
    this.waiting.delete(lookUp);
    const known = row?.state === 'valid' ? this.cache.get(key) : undefined;
    if (known) known.usedAt = performance.now();
    else {
      const ended = row?.state === 'revoked' ? 'was revoked' : 'has expired';
      const found = row && `${quote(row.name)} with the id ${row.id} ${ended} at ${String(row.end)}`;
      noteRefusal(request, `An access token was refused. ${found ?? 'The database does not have it'}`);
    }
    resolve(known?.principal);
  }

  private async record(): Promise<void> {
    const now = performance.now();
    this.recordAt = now + RECORD_EVERY_MS;
    const ages = new Map([...this.cache.values()].map(({ id, usedAt }) => [id, now - usedAt]));
    if (ages.size > 0)
      await this.store.recordUses(ages).catch((error: unknown) => {
        this.logger.warn(`The last use of access tokens cannot be recorded: ${reasonOf(error)}`);
      });
    for (const [key, { usedAt }] of this.cache) if (usedAt < now - RECORD_EVERY_MS) this.cache.delete(key);
  }

  /** Pauses before the next statement. There is no pause if requests wait and the last statement succeeded. */
  private async pause(): Promise<void> {
    const isAwaited = this.waiting.size > 0;
    if (isAwaited && this.failure === undefined) return;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, isAwaited ? RETRY_MS : CONFIRM_EVERY_MS).unref();
      if (!isAwaited) this.wake = resolve;
    });
  }
}
