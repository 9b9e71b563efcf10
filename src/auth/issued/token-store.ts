/** What is known of a token that was issued and is not revoked. */
export interface TokenRow {
  readonly id: number;
  /** SHA-256 of the token. */
  readonly digest: Buffer;
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds until it expires, by the database's clock; none where it never does. */
  readonly remaining: number | null;
}

/** That a token was used. */
export interface TokenUse {
  readonly id: number;
  /** How many milliseconds ago. */
  readonly age: number;
}

/** What a token store tells by itself. */
export interface TokenStoreEvents {
  /** Tokens were created, changed or revoked. */
  changed(): void;
  /** The connection broke while no statement needed it. */
  lost(error: Error): void;
}

/** Where tokens are, behind one connection: it takes one statement at a time. */
export interface TokenStore {
  /** Whether it can be asked. A failure that leaves the connection in doubt closes it. */
  readonly isOpen: boolean;
  /**
   * Connects, and listens for changes from then on.
   *
   * @param limit milliseconds that it may take, where the store has no shorter limit
   */
  open(events: TokenStoreEvents, limit: number): Promise<void>;
  /** Those out of the tokens with these digests that are not revoked. */
  find(digests: readonly Buffer[]): Promise<TokenRow[]>;
  /** Those out of the tokens with these ids that are not revoked. */
  check(ids: readonly number[]): Promise<TokenRow[]>;
  /** Writes down when tokens were last used. */
  recordUses(uses: readonly TokenUse[]): Promise<void>;
  /** Says goodbye where it can, and never fails. */
  close(): Promise<void>;
  /** Gives the connection up, whatever is under way. */
  destroy(): void;
}
