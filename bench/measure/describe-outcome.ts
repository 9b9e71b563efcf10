import type { Round } from './round.js';

/** The result of a round, in a line. */
export function describeOutcome(outcome: Round | Error): string {
  if (outcome instanceof Error) return `invalid: ${outcome.message}`;
  const { createsPerSecond, p50, p99 } = outcome;
  return `${createsPerSecond.toFixed(0).padStart(6)}/s  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms`;
}
