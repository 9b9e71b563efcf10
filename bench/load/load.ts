/** What one run of load came to. A create that is not answered as one makes the run fail. */
export interface LoadResult {
  /** Answers of status 200, or commits. */
  readonly creates: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface LoadRun {
  readonly connections: number;
  readonly seconds: number;
  /** Of the ids of this run. */
  readonly firstId: number;
  readonly signal: AbortSignal;
}

/** From the latencies of a run, in milliseconds. */
export function loadResult(latencies: Float64Array, seconds: number): LoadResult {
  latencies.sort();
  const at = (quantile: number): number => latencies[Math.floor(quantile * (latencies.length - 1))] ?? NaN;
  return { creates: latencies.length, seconds, p50: at(0.5), p99: at(0.99) };
}
