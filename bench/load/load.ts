import type { IdOrder } from './ids.js';

/** What a load generator saw in one run. */
export interface LoadResult {
  /** Answers of status 200, or commits. */
  readonly creates: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Anything that was not such an answer. */
  readonly failures: number;
}

export interface LoadRun {
  readonly connections: number;
  readonly seconds: number;
  /** Begins the ids of this run; no other run has it. */
  readonly idPrefix: number;
  readonly signal: AbortSignal;
}

export interface HttpLoadRun extends LoadRun {
  readonly url: string;
  readonly token: string;
  readonly ids: IdOrder;
}

/** Sends creates over HTTP, each of a plant of its own, on the given number of connections, each as fast as it is answered. */
export interface LoadGenerator {
  /** With its version, where it tells. */
  readonly name: string;
  run(run: HttpLoadRun): Promise<LoadResult>;
}
