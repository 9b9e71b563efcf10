import { cpus, totalmem } from 'node:os';
import type { Measurement, Round } from './measure.js';

/** For a normal distribution, 95 % lie within as many standard deviations. */
const DEVIATIONS = 1.96;

/** The columns of a target's own figures. */
const FIGURES: readonly (readonly [header: string, text: (measurement: Measurement) => string])[] = [
  ['creates/s', (one) => numberText(figureOf(one, 'createsPerSecond'))],
  ['p50 ms', ({ latencies }) => numberText(quantile(latencies, 0.5))],
  ['p99 ms', ({ latencies }) => numberText(quantile(latencies, 0.99))],
  ['p50 ms at half the rate', ({ openLoopLatencies }) => numberText(quantile(openLoopLatencies, 0.5))],
  ['p99 ms at half the rate', ({ openLoopLatencies }) => numberText(quantile(openLoopLatencies, 0.99))],
  ['CPU µs', (one) => numberText(figureOf(one, 'serverCpu')) + (one.isSettled ? '' : ' (not warm)')],
  ['PostgreSQL CPU µs', (one) => numberText(figureOf(one, 'databaseCpu'))],
  ['cores: load, service, PostgreSQL', coresText],
];
/** The columns in which the store is compared with each of the others. */
const RATIOS: readonly (readonly [header: string, figure: keyof Round])[] = [
  ['creates/s', 'createsPerSecond'],
  ['p50', 'p50'],
  ['CPU', 'serverCpu'],
  ['PostgreSQL CPU', 'databaseCpu'],
];

/** Without it the absolute figures mean nothing. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const processors = `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}`;
  return `${processors}, ${gigabytes} GiB, ${process.platform}, Node.js ${process.version}.`;
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

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? NaN;
}

/** The figures of each target at one number of connections, and how the first store on its runtime compares with it. */
export function renderTables(measurements: readonly Measurement[]): string {
  const names = ({ target }: Measurement): string[] => [target.title, target.runtime];
  const figures = measurements.map((one) => [...names(one), ...FIGURES.map(([, text]) => text(one))]);
  const ratios = measurements.flatMap((one) => {
    const { runtime } = one.target;
    // What runs on something else is compared with the first of all.
    const first = measurements.find(({ target }) => target.isStore && target.runtime === runtime) ?? measurements[0];
    if (!first || first === one) return [];
    return [[...names(one), ...RATIOS.map(([, figure]) => ratioText(first, one, figure))]];
  });
  const tables = [
    [['', 'runs on', ...FIGURES.map(([header]) => header)], ...figures],
    [['plant store ÷', 'runs on', ...RATIOS.map(([header]) => header)], ...ratios],
  ];
  return tables.map(alignedTable).join('\n\n');
}

/** How many cores each of the three keeps busy. */
function coresText(measurement: Measurement): string {
  const perMicrosecond = figureOf(measurement, 'createsPerSecond') / 1e6;
  const figures = ['loadCpu', 'serverCpu', 'databaseCpu'] as const;
  const cores = figures.map((figure) => figureOf(measurement, figure) * perMicrosecond);
  return cores.map((value) => (Number.isNaN(value) ? '–' : value.toFixed(2))).join(', ');
}

/**
 * The median of the ratios of each round, in which both met the same noise. Its interval is between two of the sorted
 * ratios, as far from the middle as a series of fair coins lies with 95 %: that asks nothing of how the ratios are
 * spread. Few rounds have none.
 */
function ratioText(first: Measurement, other: Measurement, figure: keyof Round): string {
  // The last round may be interrupted.
  const complete = first.rounds.slice(0, other.rounds.length);
  const ratios = complete.map((round, index) => round[figure] / (other.rounds[index]?.[figure] ?? NaN));
  const sorted = ratios.toSorted((a, b) => a - b);
  const rank = Math.floor((sorted.length - DEVIATIONS * Math.sqrt(sorted.length)) / 2);
  const [low, high] = [sorted[rank - 1], sorted[sorted.length - rank]];
  const text = numberText(median(ratios));
  return low === undefined || high === undefined ? text : `${text} (${numberText(low)} to ${numberText(high)})`;
}

/** A table of Markdown that can be read as it is. The first two columns are text, the others are numbers. */
function alignedTable(rows: readonly (readonly string[])[]): string {
  const [header = [], ...body] = rows;
  const widths = header.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)));
  const isText = (column: number): boolean => column < 2;
  const rule = widths.map((width, column) => (isText(column) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  const lines = [header, rule, ...body].map((row) =>
    row.map((cell, column) => (isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))),
  );
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
