/** As much of a `pg` pool as the store uses: any version of `pg` has it, and so may what an application puts in front. */
export interface LendingPool {
  connect(): Promise<LentConnection>;
  /** Where these three are told, a pool that is exhausted is told apart from a database that cannot be reached. */
  readonly totalCount?: number;
  readonly idleCount?: number;
  readonly options?: { readonly max?: number };
}

/** As much of a `pg` client as the store uses. */
export interface LentConnection {
  query(...parameters: never[]): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
}
