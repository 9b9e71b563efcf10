import type { StartTime } from '../measure/measure-starts.js';
import { figureOf, type Measurement } from '../measure/measurement.js';
import type { Round } from '../measure/round.js';

/** All that one run found out. */
export interface Report {
  readonly machine: string;
  readonly generator: string;
  readonly starts: readonly StartTime[];
  readonly measurements: readonly Measurement[];
}

/** One figure of one target. */
export function figure(
  { measurements }: Report,
  target: string,
  connections: number,
  name: keyof Round,
): number | undefined {
  const found = measurements.find((one) => one.target === target && one.connections === connections);
  return found && figureOf(found, name);
}

export function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}
