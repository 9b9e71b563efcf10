import type { Principal } from '../token-verifier.js';
import type { TokenRow, TokenUse } from './token-store.js';

/** Milliseconds that what the database told of a token is relied on, when it can't be asked any more: five minutes. */
export const TRUST_MS = 300_000;
/** Milliseconds between two records of a token's use. */
const RECORD_EVERY_MS = 60_000;

/** A token that the database knew when it was last asked. All moments are those of `performance.now()`. */
export class IssuedToken {
  readonly id: number;
  /** The same object each time: what a request does with it may be kept by it. */
  principal: Principal;
  /** Until then it may be used, whatever becomes of the database. */
  validUntil: number;
  usedAt: number;
  private expiresAt: number;
  private trustedUntil: number;
  private recordedAt = -Infinity;

  /** @param askedAt when the database was asked, not when it answered: an error is on the safe side */
  constructor(row: TokenRow, askedAt: number) {
    this.id = row.id;
    this.principal = principalOf(row);
    this.expiresAt = expiryOf(row, askedAt);
    this.trustedUntil = askedAt + TRUST_MS;
    this.validUntil = Math.min(this.expiresAt, this.trustedUntil);
    this.usedAt = askedAt;
  }

  /** Whether it is certain that it may not be used, with no need to ask. */
  isExpired(now: number): boolean {
    return now >= this.expiresAt && now < this.trustedUntil;
  }

  /** Takes over what the database says now. */
  confirm(row: TokenRow, askedAt: number): void {
    if (!isSame(this.principal, row)) this.principal = principalOf(row);
    this.expiresAt = expiryOf(row, askedAt);
    this.trustedUntil = askedAt + TRUST_MS;
    this.validUntil = Math.min(this.expiresAt, this.trustedUntil);
  }

  /** Whether its last use is to be recorded. */
  get isUseDue(): boolean {
    return this.usedAt - this.recordedAt >= RECORD_EVERY_MS;
  }

  lastUse(now: number): TokenUse {
    return { id: this.id, age: now - this.usedAt };
  }

  recorded(usedAt: number): void {
    this.recordedAt = usedAt;
  }
}

function expiryOf({ remaining }: TokenRow, askedAt: number): number {
  return askedAt + (remaining ?? Infinity);
}

function principalOf({ name, scopes }: TokenRow): Principal {
  // Those that one rotation left have one name, and one limit.
  return Object.freeze({ name, scopes: Object.freeze([...scopes]), limitKey: `issued:${name}` });
}

function isSame({ name, scopes }: Principal, row: TokenRow): boolean {
  return (
    name === row.name && scopes.length === row.scopes.length && scopes.every((scope, i) => scope === row.scopes[i])
  );
}
