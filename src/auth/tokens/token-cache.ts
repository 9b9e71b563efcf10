import type { Logger } from '@nestjs/common';
import { LruMap } from '../../util/lru-map.js';
import { reasonOf } from '../../util/text.js';
import type { Principal, RefusedToken } from '../token-verifier.js';
import type { TokenReader, TokenRow } from './token-reader.js';
import { keyOf } from './token.js';

/** Tokens that are remembered. */
const MAX_TOKENS = 10_000;
/**
 * A revocation takes effect within this time: so long a token is valid after the database was asked and confirmed it. A token in use is
 * confirmed every 500 ms, or by one statement after the other if each takes longer (issued-token-verifier.ts).
 */
export const FRESH_MS = 2000;
/** How long a token is valid after its last confirmation while the database is away. */
export const TRUST_MS = 300_000;
/** Between two records of a token's use. */
const RECORD_EVERY_MS = 60_000;

/** From a request to the record of the use of its token; after a failure to record uses. */
const RECORD_AFTER_MS = 1000;
const RECORD_RETRY_MS = 60_000;

/** A token that the database knew when it was last asked. All moments are those of `performance.now()`. */
export class KnownToken {
  readonly id: number;
  /** The same object each time: a request may keep what it derives from it. */
  principal: Principal;
  usedAt: number;
  /** The use that was recorded last. */
  recordedAt = -Infinity;
  confirmedAt = 0;
  private expiresAt = 0;

  /** @param askedAt when the database was asked, not when it answered: so an error is on the safe side */
  constructor(row: TokenRow, askedAt: number) {
    this.id = row.id;
    this.principal = toPrincipal(row);
    this.usedAt = askedAt;
    this.confirm(row, askedAt);
  }

  confirm(row: TokenRow, askedAt: number): void {
    if (!isSame(this.principal, row)) this.principal = toPrincipal(row);
    this.confirmedAt = askedAt;
    this.expiresAt = askedAt + (row.remaining ?? Infinity);
  }

  use(now: number): Principal | undefined {
    if (now >= this.expiresAt) return undefined;
    this.usedAt = now;
    return this.principal;
  }

  /** Seconds until it ends; Infinity if it does not. */
  endsIn(now: number): number {
    return (this.expiresAt - now) / 1000;
  }

  get expired(): RefusedToken {
    return { reason: 'expired', name: this.principal.name };
  }
}

/** The result of the last look-up of each token. Only tokens of the database are known, so guesses do not replace any of them. */
export class TokenCache {
  private readonly known = new LruMap<string, KnownToken>(MAX_TOKENS);
  /** Tokens that were known and have ended, whose last use matters most. */
  private ended: KnownToken[] = [];

  get(key: string): KnownToken | undefined {
    return this.known.get(key);
  }

  /** The tokens that were used since this moment, by their keys. */
  usedSince(moment: number): [string, KnownToken][] {
    return [...this.known].filter(([, { usedAt }]) => usedAt >= moment);
  }

  /** Seconds until the first of the tokens that were used since this moment ends. Of a name the last one counts: it replaces the others. */
  soonestEnd(usedSince: number): number {
    const now = performance.now();
    const ends = new Map<string, number>();
    for (const [, token] of this.usedSince(usedSince)) {
      const { name } = token.principal;
      ends.set(name, Math.max(token.endsIn(now), ends.get(name) ?? 0));
    }
    return Math.min(...ends.values());
  }

  /** The tokens whose last use is to be recorded; those that have ended are returned once. */
  takeUsed(): KnownToken[] {
    const tokens = [...this.ended, ...this.known.values()];
    this.ended = [];
    return tokens.filter(({ usedAt, recordedAt }) => usedAt - recordedAt >= RECORD_EVERY_MS);
  }

  /** Stores what the database says of the tokens with these keys. Returns those that it knows and that are not valid, by their keys. */
  update(keys: Iterable<string>, rows: readonly TokenRow[], askedAt: number): Map<string, RefusedToken> {
    const refused = new Map<string, RefusedToken>();
    const found = new Map(rows.map((row) => [keyOf(row.digest), row]));
    for (const key of keys) {
      // Not get(), which would count as a use.
      const token = this.known.peek(key);
      const row = found.get(key);
      const reason = row && whyInvalid(row);
      if (row !== undefined && reason === undefined) {
        if (token?.id === row.id) token.confirm(row, askedAt);
        else this.known.set(key, new KnownToken(row, askedAt));
      } else {
        if (token !== undefined) this.ended.push(token);
        this.known.delete(key);
        if (row !== undefined && reason !== undefined) refused.set(key, { name: row.name, reason });
      }
    }
    return refused;
  }
}

/** Stores when tokens were last used. Nothing depends on it, so a failure is one line in the log. */
export class UseRecorder {
  private timer: NodeJS.Timeout | undefined;
  private recording: Promise<void> | undefined;
  private isFailing = false;

  constructor(
    private readonly cache: TokenCache,
    private readonly store: Pick<TokenReader, 'isConnected' | 'recordUses'>,
    private readonly logger: Logger,
  ) {}

  /** Records uses soon, if that is not to be done already. */
  schedule(): void {
    const record = (): void => {
      this.recording = this.record().then(() => (this.timer = undefined));
    };
    this.timer ??= setTimeout(record, this.isFailing ? RECORD_RETRY_MS : RECORD_AFTER_MS).unref();
  }

  /** Records the last uses, if the store is connected. */
  async stop(): Promise<void> {
    clearTimeout(this.timer);
    await this.recording;
    if (this.store.isConnected) await this.record();
  }

  private async record(): Promise<void> {
    const now = performance.now();
    // While they are recorded, they may be used again.
    const uses = this.cache.takeUsed().map((token) => ({ token, usedAt: token.usedAt }));
    if (uses.length === 0) return;
    try {
      await this.store.recordUses(uses.map(({ token, usedAt }) => ({ id: token.id, age: now - usedAt })));
      for (const { token, usedAt } of uses) token.recordedAt = usedAt;
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing) this.logger.warn(`The last use of access tokens cannot be recorded: ${reasonOf(error)}`);
      this.isFailing = true;
    }
  }
}

/** Why a token with this row is not valid; undefined if it is. */
function whyInvalid(row: TokenRow): RefusedToken['reason'] | undefined {
  if (row.isRevoked) return 'revoked';
  return row.remaining !== null && row.remaining <= 0 ? 'expired' : undefined;
}

function toPrincipal({ name, scopes }: TokenRow): Principal {
  return Object.freeze({ name, scopes: Object.freeze([...scopes]) });
}

function isSame({ name, scopes }: Principal, row: TokenRow): boolean {
  return (
    name === row.name && scopes.length === row.scopes.length && scopes.every((scope, i) => scope === row.scopes[i])
  );
}
