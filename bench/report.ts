import { cpus, totalmem } from 'node:os';
import type { Measurement, Round } from './measure.js';

/** For a normal distribution, 95 % lie within as many standard deviations. */
const DEVIATIONS = 1.96;

/** The columns of a target's own figures: each is the median over the rounds. */
const FIGURES: readonly (readonly [header: string, figure: keyof Round])[] = [
  ['creates/s', 'createsPerSecond'],
  ['p50 ms', 'p50'],
  ['p99 ms', 'p99'],
  ['CPU µs', 'serverCpu'],
  ['PostgreSQL CPU µs', 'databaseCpu'],
];
/** The columns in which the first target is compared with each of the others. */
const RATIOS: readonly (readonly [header: string, figure: keyof Round])[] = [
  ['creates/s ÷', 'createsPerSecond'],
  ['p50 ÷', 'p50'],
  ['CPU ÷', 'serverCpu'],
];

/** Without it the absolute figures mean nothing. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${gigabytes} GiB, ${process.platform}, Node.js ${process.version}.`;
}

/** One figure of a target, the median over its rounds. */
export function figureOf({ rounds }: Measurement, figure: keyof Round): number {
  return median(rounds.map((round) => round[figure]));
}

/** With three significant digits; a dash if there is no number. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);
}

/** A row for each target at each number of connections. The first target is the one that is compared with the others. */
export function renderTable(measurements: readonly Measurement[]): string {
  const header = ['', 'connections', ...FIGURES.map(([name]) => name), ...RATIOS.map(([name]) => name)];
  const rows = measurements.map((measurement) => {
    const { title, connections } = measurement;
    const first = measurements.find((one) => one.connections === connections) ?? measurement;
    return [
      title,
      String(connections),
      ...FIGURES.map(([, figure]) => numberText(figureOf(measurement, figure))),
      ...RATIOS.map(([, figure]) => (first === measurement ? '' : ratioText(first, measurement, figure))),
    ];
  });
  return alignedTable([header, ...rows]);
}

/**
 * The median of the ratios of each round, in which both met the same noise. Its interval is between two of the sorted ratios, as far
 * from the middle as a series of fair coins lies with 95 %: that asks nothing of how the ratios are spread. Few rounds have none.
 */
function ratioText(first: Measurement, other: Measurement, figure: keyof Round): string {
  const ratios = first.rounds.map((round, index) => round[figure] / (other.rounds[index]?.[figure] ?? NaN));
  const sorted = ratios.toSorted((a, b) => a - b);
  const rank = Math.floor((sorted.length - DEVIATIONS * Math.sqrt(sorted.length)) / 2);
  const [low, high] = [sorted[rank - 1], sorted[sorted.length - rank]];
  const text = numberText(median(ratios));
  return low === undefined || high === undefined ? text : `${text} (${numberText(low)} to ${numberText(high)})`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

/** A table of Markdown that can be read as it is. The first column is text, the others are numbers. */
function alignedTable(rows: readonly (readonly string[])[]): string {
  const [header = [], ...body] = rows;
  const widths = header.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  const lines = [header, rule, ...body].map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))),
  );
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
