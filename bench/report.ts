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

/** At which the targets differ best. */
const CHART_CONNECTIONS = 64;

const ROW = 28;
const TOP = 64;
const LABELS = 220;
const BARS = 230;
const GAP = 90;
// Each can be distinguished from a white background as well as from a black one.
const [TEXT, OURS, OTHERS] = ['#7d8590', '#2da44e', '#8c959f'];

/** Without it the absolute figures mean nothing. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${gigabytes} GiB, ${process.platform}, Node.js ${process.version}.`;
}

/** One figure of a target, the median over its rounds. */
function figureOf({ rounds }: Measurement, figure: keyof Round): number {
  return median(rounds.map((round) => round[figure]));
}

/** With three significant digits; a dash if there is no number. */
function numberText(value: number): string {
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

/** Two bars for each target: how much it does, and how long it takes. An SVG on a transparent background. */
export function drawChart(measurements: readonly Measurement[]): string {
  const shown = measurements.filter(({ connections }) => connections === CHART_CONNECTIONS);
  const [left, right] = [LABELS, LABELS + BARS + GAP];
  const title = `Creates at ${CHART_CONNECTIONS} connections`;
  const lines = [
    text(0, 20, title, 'font-weight="bold"'),
    text(left, 46, 'creates/s (more is better)'),
    text(right, 46, '99th percentile, ms (less is better)'),
    ...shown.map((one, row) => text(LABELS - 10, middleOf(row), one.title, 'text-anchor="end"')),
    ...bars(left, shown, 'createsPerSecond'),
    ...bars(right, shown, 'p99'),
  ];
  const size = `${LABELS + 2 * (BARS + GAP)} ${TOP + shown.length * ROW + 8}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="13">
${lines.join('\n')}
</svg>
`;
}

function bars(x: number, shown: readonly Measurement[], figure: 'createsPerSecond' | 'p99'): string[] {
  const longest = Math.max(...shown.map((one) => figureOf(one, figure)));
  return shown.flatMap((one, row) => {
    const value = figureOf(one, figure);
    const width = (value / longest) * BARS;
    const colour = one.title.startsWith('plant store') ? OURS : OTHERS;
    const bar = `<rect x="${x}" y="${middleOf(row) - 9}" width="${width.toFixed(1)}" height="18" rx="2" fill="${colour}"/>`;
    return [bar, text(x + width + 6, middleOf(row), numberText(value))];
  });
}

function middleOf(row: number): number {
  return TOP + row * ROW + ROW / 2;
}

function text(x: number, y: number, content: string, style = 'text-anchor="start"'): string {
  const place = `x="${x.toFixed(1)}" y="${y}" dominant-baseline="middle" ${style}`;
  return `<text ${place} fill="${TEXT}">${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;
}
