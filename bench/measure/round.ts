/** What one target did in one round. Times are in milliseconds; what this machine does not tell is undefined. */
export interface Round {
  readonly createsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU seconds for a thousand creates. */
  readonly serverCpu?: number | undefined;
  readonly databaseCpu?: number | undefined;
  readonly plantsPerCommit?: number | undefined;
  /** Bytes that the database has written to its log for a create. */
  readonly walBytes?: number | undefined;
  /** Bytes that the server's processes have had at most, from their start on. */
  readonly peakMemory?: number | undefined;
  /** Share of one core that the load generator took. */
  readonly generatorLoad?: number | undefined;
  /** Share of the machine that was taken by what has nothing to do with it. */
  readonly otherLoad?: number | undefined;
}
