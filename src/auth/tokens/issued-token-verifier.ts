import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { withConnection } from '../../database/connection.js';
import { parseDatabaseUrl } from '../../database/database-url.js';
import type { Query } from '../../database/database.js';
import { DEFAULT_STORAGE_TIMEOUT } from '../../database/database.options.js';
import { assertMigrated } from '../../database/migration-status.js';
import { findMissingRights } from '../../database/table-checks.js';
import { reasonOf } from '../../util/text.js';
import { withinTime } from '../../util/timing.js';
import type { IssuedTokensOptions } from '../auth.options.js';
import { type Principal, refuseToken, TokenVerifier } from '../token-verifier.js';
import { LookupQueue } from './lookup-queue.js';
import { FRESH_MS, KnownToken, TokenCache, TRUST_MS, UseRecorder } from './token-cache.js';
import { STATEMENT_TIMEOUT_MS, TokenReader } from './token-reader.js';
import { digestOf, isWellFormedToken, resemblesToken, tokenKey } from './token.js';

/** From one confirmation of the tokens in use to the next, and from a failure to the next attempt. */
const CONFIRM_EVERY_MS = 500;
/** From one look-up to the next: 50 a second at most. */
const LOOKUP_EVERY_MS = 20;
/** A token is in use for so long after a request with it. */
const IN_USE_MS = 60_000;
const SHUTDOWN_TIMEOUT_MS = 1500;
const ADVICE = `Those that were looked up before are valid for ${TRUST_MS / 60_000} more minutes, or until they expire.`;

/**
 * Accepts the tokens that were issued and are neither expired nor revoked. It answers from memory if it can. One statement at a
 * time confirms the tokens in use and looks up those that requests wait for. Its result is stored before the next one is sent, so no
 * result replaces a newer one.
 */
export class IssuedTokenVerifier extends TokenVerifier implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(IssuedTokenVerifier.name);
  private readonly cache = new TokenCache();
  private readonly lookups = new LookupQueue();
  private readonly timeout: number;
  private readonly uses: UseRecorder;
  private isStopped = false;

  /** Until the next statement, while tokens are in use or requests wait. */
  private timer: NodeJS.Timeout | undefined;
  private asking: Promise<void> | undefined;
  /** When the last statement was sent, and when the next ones may be. */
  private askedAt = 0;
  private lookUpAt = 0;
  private confirmAt = 0;

  /** Whether the last statement failed. */
  private isFailing = false;
  /** Why, until a statement succeeds. */
  private failure: Error | undefined;

  /** Connects with the first token that may have been issued. */
  constructor(
    private readonly options: IssuedTokensOptions,
    private readonly store: Pick<TokenReader, keyof TokenReader> = new TokenReader(options),
  ) {
    super();
    this.timeout = options.timeout ?? DEFAULT_STORAGE_TIMEOUT;
    this.uses = new UseRecorder(this.cache, store, this.logger);
  }

  verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined {
    if (!resemblesToken(token)) return undefined;
    const key = tokenKey(token);
    const known = this.cache.get(key);
    if (known === undefined) {
      // Only now, as it costs more than to look into the cache, which holds nothing malformed.
      return isWellFormedToken(token) ? this.lookUp(key, request) : undefined;
    }
    const now = performance.now();
    return this.isTrusted(known, now)
      ? (known.use(now) ?? refuseToken(request, known.expired))
      : this.lookUp(key, request, known);
  }

  /** Seconds until the first of the tokens in use ends; Infinity if none of them does. */
  get soonestEnd(): number {
    return this.cache.soonestEnd(performance.now() - IN_USE_MS);
  }

  /** Fails if the options name no usable table of tokens: else every request would get a 50300, as if it could be sent again. */
  async onModuleInit(): Promise<void> {
    const { url, password, schema } = this.options;
    const database = parseDatabaseUrl(url, password, schema);
    await withConnection(database, async (query) => {
      await assertMigrated(query, database);
      await inspectTokenTable(query, database.schema);
    });
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.lookups.rejectAll(new Error('the application shuts down'));
    const finish = async (): Promise<void> => {
      await this.asking;
      await this.uses.stop();
      await this.store.end();
    };
    const timeUp = (): Error => new Error('the database does not answer');
    await withinTime(finish(), SHUTDOWN_TIMEOUT_MS, timeUp).catch(() => undefined);
    this.store.destroy();
  }

  /** Whether a token is valid, until it expires, as it was when it was last confirmed. */
  private isTrusted({ confirmedAt }: KnownToken, now: number): boolean {
    // The database does not answer within a statement's time limit, so that tokens in use cannot be confirmed.
    const isAway = this.isFailing || (this.asking !== undefined && now - this.askedAt >= STATEMENT_TIMEOUT_MS);
    return now - confirmedAt < (isAway ? TRUST_MS : FRESH_MS);
  }

  /** @param known a token that was valid when it was last confirmed */
  private async lookUp(key: string, request: unknown, known?: KnownToken): Promise<Principal | undefined> {
    if (this.isStopped) throw new Error('the application has shut down');
    if (this.failure !== undefined && performance.now() < this.lookUpAt) throw this.failure;
    const result = known
      ? this.lookups.addKnown(key, Math.min(this.timeout, FRESH_MS))
      : this.lookups.addUnknown(key, this.timeout);
    this.schedule();
    try {
      const found = await result;
      if (!(found instanceof KnownToken)) return refuseToken(request, found);
      return found.use(performance.now()) ?? refuseToken(request, found.expired);
    } catch (error) {
      const now = performance.now();
      // Not `known`, which may have been revoked meanwhile.
      const token = this.cache.get(key);
      if (token !== undefined && this.isTrusted(token, now))
        return token.use(now) ?? refuseToken(request, token.expired);
      throw error;
    }
  }

  private schedule(): void {
    if (this.asking !== undefined || this.isStopped) return;
    const at = this.lookups.isEmpty ? this.confirmAt : Math.min(this.lookUpAt, this.confirmAt);
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => {
        this.asking = this.ask().then((isInUse) => {
          this.asking = undefined;
          if (isInUse || !this.lookups.isEmpty) this.schedule();
        });
      },
      Math.max(0, at - performance.now()),
    ).unref();
  }

  /** Returns whether tokens are in use, or may be. */
  private async ask(): Promise<boolean> {
    const askedAt = (this.askedAt = performance.now());
    const isDue = askedAt >= this.confirmAt;
    const batch = this.lookups.take();
    if (batch.length > 0) this.lookUpAt = askedAt + LOOKUP_EVERY_MS;
    const keys = new Set(batch.map(([key]) => key));
    if (isDue) {
      this.confirmAt = askedAt + CONFIRM_EVERY_MS;
      for (const [key] of this.cache.usedSince(askedAt - IN_USE_MS)) keys.add(key);
    }
    if (keys.size === 0) {
      // An outage that ends meanwhile is not logged.
      if (isDue) this.isFailing = false;
      return !isDue;
    }
    try {
      const rows = await this.store.find(Array.from(keys, digestOf));
      const refused = this.cache.update(keys, rows, askedAt);
      batch.push(...this.lookups.takeKnown(keys));
      for (const [key, lookup] of batch) lookup.resolve(this.cache.get(key) ?? refused.get(key));
      this.succeeded();
    } catch (error) {
      for (const [, lookup] of batch) lookup.reject(error as Error);
      this.failed(error as Error);
    }
    return true;
  }

  private succeeded(): void {
    if (this.failure !== undefined) this.logger.log('Access tokens can be looked up again.');
    this.failure = undefined;
    this.isFailing = false;
    if (!this.isStopped) this.uses.schedule();
  }

  private failed(error: Error): void {
    this.lookups.rejectAll(error);
    if (this.isStopped) return;
    if (this.failure === undefined)
      this.logger.warn(`Access tokens cannot be looked up: ${reasonOf(error)}. ${ADVICE}`);
    this.failure = error;
    this.isFailing = true;
    this.lookUpAt = this.confirmAt = performance.now() + CONFIRM_EVERY_MS;
  }
}

/** Warns if the role cannot use the access tokens: static tokens and JWTs are valid without them. */
export async function inspectTokenTable(query: Query, schema: string): Promise<void> {
  const lacks = await findMissingRights(query, schema, { access_tokens: ['SELECT', 'UPDATE'] });
  if (lacks === undefined) return;
  new Logger(IssuedTokenVerifier.name).warn(`Access tokens of schema ${schema} cannot be used: ${lacks}`);
}
