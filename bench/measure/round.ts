/** What one target did in one round. Times are in milliseconds; what this machine does not tell is undefined. */
export interface Round {
  readonly createsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Microseconds for a create. */
  readonly serverCpu?: number | undefined;
  readonly databaseCpu?: number | undefined;
  readonly plantsPerCommit?: number | undefined;
  /** Bytes that the database has written to its log for a create. */
  readonly walBytes?: number | undefined;
  /** Bytes that the server's processes have had at most, from their start on. */
  readonly peakMemory?: number | undefined;
}
