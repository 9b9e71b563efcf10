import type { TokenRow, TokenStore, TokenStoreEvents, TokenUse } from '../../src/auth/issued/token-store.js';
import { tokenDigest } from '../../src/auth/issued/token-form.js';

/** Tokens in memory, behind a connection that does what a test says. */
export class FakeTokenStore implements TokenStore {
  isOpen = false;
  /** By the token. */
  readonly rows = new Map<string, TokenRow>();
  readonly lookups: number[] = [];
  readonly checks: number[] = [];
  readonly uses: TokenUse[] = [];
  opened = 0;
  /** Milliseconds that each attempt to open it could take. */
  readonly limits: number[] = [];
  destroyed = false;
  /** Why it can't be reached, or does not take statements. */
  unreachable: Error | undefined;
  rejection: Error | undefined;
  useRejection: Error | undefined;
  events: TokenStoreEvents | undefined;
  private held: { promise: Promise<void> } | undefined;
  private underWay = 0;

  add(token: string, row: Partial<TokenRow> = {}): void {
    this.rows.set(token, {
      id: this.rows.size + 1,
      digest: tokenDigest(token),
      name: 'gardener',
      scopes: ['plants:create'],
      remaining: null,
      ...row,
    });
  }

  /** Statements have seen the tokens as they are, and their answers are on the way until this is called. */
  hold(): () => void {
    let resolve = (): void => undefined;
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    this.held = { promise };
    return () => {
      this.held = undefined;
      resolve();
    };
  }

  /** The connection breaks, where a statement is under way as well. */
  break(error: Error): void {
    this.isOpen = false;
    if (this.underWay === 0) this.events?.lost(error);
  }

  async open(events: TokenStoreEvents, limit: number): Promise<void> {
    this.opened += 1;
    this.limits.push(limit);
    await this.held?.promise;
    if (this.unreachable) throw this.unreachable;
    this.events = events;
    this.isOpen = true;
  }

  find(digests: readonly Buffer[]): Promise<TokenRow[]> {
    this.lookups.push(digests.length);
    return this.answer([...this.rows.values()].filter(({ digest }) => digests.some((each) => each.equals(digest))));
  }

  check(ids: readonly number[]): Promise<TokenRow[]> {
    this.checks.push(ids.length);
    return this.answer([...this.rows.values()].filter(({ id }) => ids.includes(id)));
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    if (this.useRejection) throw this.useRejection;
    await this.answer([]);
    this.uses.push(...uses);
  }

  close(): Promise<void> {
    this.isOpen = false;
    return Promise.resolve();
  }

  destroy(): void {
    this.destroyed = true;
    this.isOpen = false;
  }

  private async answer(rows: TokenRow[]): Promise<TokenRow[]> {
    if (!this.isOpen) throw new Error('it is closed');
    // Or two would be sent at a time.
    if (this.underWay > 0) throw new Error('a statement is under way');
    this.underWay += 1;
    try {
      await this.held?.promise;
      if (this.rejection) throw this.rejection;
      if (this.unreachable) this.isOpen = false;
      if (!this.isOpen) throw this.unreachable ?? new Error('the connection broke');
      return rows;
    } finally {
      this.underWay -= 1;
    }
  }
}
