import type { StartTime } from '../measure/measure-starts.js';
import { figureOf, type Measurement } from '../measure/measurement.js';
import { type Ratio, ratioOf } from '../measure/ratio.js';
import type { Round } from '../measure/round.js';

/** All that one run found out. */
export interface Report {
  readonly machine: string;
  readonly starts: readonly StartTime[];
  readonly measurements: readonly Measurement[];
}

/** One figure of one target. */
export function figure(report: Report, target: string, connections: number, name: keyof Round): number | undefined {
  const found = find(report, target, connections);
  return found && figureOf(found, name);
}

/** One figure of a target, compared with that of another. */
export function quotient(
  report: Report,
  name: keyof Round,
  ours: string,
  other: string,
  connections: number,
): Ratio | undefined {
  return compared(name, find(report, ours, connections), find(report, other, connections));
}

export function compared(
  name: keyof Round,
  ours: Measurement | undefined,
  other: Measurement | undefined,
): Ratio | undefined {
  const of = (one: Measurement | undefined): (number | undefined)[] => (one?.rounds ?? []).map((round) => round[name]);
  return ratioOf(of(ours), of(other));
}

function find({ measurements }: Report, target: string, connections: number): Measurement | undefined {
  return measurements.find((one) => one.target === target && one.connections === connections);
}

export function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}
