import type { TokenReader, TokenRow } from '../../../src/auth/tokens/token-reader.js';
import { tokenDigest } from '../../../src/auth/tokens/token.js';

/** Tokens in memory, in a store that does what a test says. */
export class FakeTokenStore implements Pick<TokenReader, keyof TokenReader> {
  isConnected = false;
  /** By the token. */
  readonly rows = new Map<string, TokenRow>();
  /** How many digests each statement asked for. */
  readonly statements: number[] = [];
  readonly uses: { id: number; age: number }[] = [];
  isDestroyed = false;
  /** Why statements fail. */
  failure: Error | undefined;
  useFailure: Error | undefined;
  /** Milliseconds that a statement takes from now on. */
  delay = 0;
  private held: { promise: Promise<void> } | undefined;
  private isFinding = false;

  add(token: string, row: Partial<TokenRow> = {}): void {
    this.rows.set(token, {
      id: this.rows.size + 1,
      digest: tokenDigest(token),
      name: 'gardener',
      scopes: ['plants:create'],
      remaining: null,
      isRevoked: false,
      ...row,
    });
  }

  /** Statements see the tokens as they are now, and their answers arrive when this is called. */
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

  async find(digests: readonly Buffer[]): Promise<TokenRow[]> {
    this.statements.push(digests.length);
    const asked = new Set(digests.map((digest) => digest.toString('hex')));
    const rows = [...this.rows.values()].filter(({ digest }) => asked.has(digest.toString('hex')));
    if (this.isFinding) throw new Error('a statement is in flight');
    this.isFinding = true;
    try {
      await this.answer();
      return rows;
    } finally {
      this.isFinding = false;
    }
  }

  async recordUses(uses: readonly { id: number; age: number }[]): Promise<void> {
    if (this.useFailure) throw this.useFailure;
    await this.answer();
    this.uses.push(...uses);
  }

  end(): Promise<void> {
    this.isConnected = false;
    return Promise.resolve();
  }

  destroy(): void {
    this.isDestroyed = true;
    this.isConnected = false;
  }

  private async answer(): Promise<void> {
    await this.held?.promise;
    if (this.delay > 0) await new Promise((done) => setTimeout(done, this.delay));
    if (this.failure) throw this.failure;
    this.isConnected = true;
  }
}
