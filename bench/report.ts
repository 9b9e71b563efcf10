import { cpus, totalmem } from 'node:os';
import { figureOf, type Measurement, type Ratio, ratioOf, type Round } from './figures.js';
import type { StartTime } from './measure.js';

const NOT_MEASURED = '–';
const OURS = 'plant-store';
const FIGURES = ['Node.js', 'creates/s', 'p50 ms', 'p99 ms', 'CPU µs', 'PostgreSQL CPU µs', 'plants/commit', 'peak MB'];
const RATIOS = ['creates/s', 'p50', 'CPU'];

/** All that one run found out. */
export interface Report {
  readonly machine: string;
  readonly starts: readonly StartTime[];
  readonly measurements: readonly Measurement[];
}

/** The figures that tell most, with what they are meant to be. */
const KEY_FIGURES: readonly (readonly [title: string, aim: string, measured: (report: Report) => string])[] = [
  ['creates/s at 64 ÷ Fastify + postgres.js', '≥ 1.5', against('createsPerSecond', 'fastify-postgres', 64)],
  ['creates/s at 64 ÷ Fastify + pg', '≥ 1', against('createsPerSecond', 'fastify-pg', 64)],
  ['creates/s at 64 ÷ echo', '≥ 0.6', against('createsPerSecond', 'echo', 64)],
  ['creates/s at 256 ÷ Nest + Prisma, as documented', '≥ 8', against('createsPerSecond', 'nest-prisma', 256)],
  ['p50 at 1 ÷ Fastify + pg', '≤ 1.15', against('p50', 'fastify-pg', 1)],
  ['p50 at 8 ÷ Fastify + pg', '≤ 1', against('p50', 'fastify-pg', 8)],
  ['p99 at 64 ÷ Fastify + postgres.js', '≤ 0.8', against('p99', 'fastify-postgres', 64)],
  ['plants per commit at 64', '≥ 10', (report) => numberText(figure(report, 64, 'plantsPerCommit'))],
  ['peak memory at 256, MB', '≤ 180', (report) => megabytes(figure(report, 256, 'peakMemory'))],
  [
    'start to ready, ms',
    '≤ 1,300',
    ({ starts }) => numberText(starts.find((one) => one.target === OURS)?.milliseconds),
  ],
];

/** The whole report as Markdown. */
export function renderReport(report: Report): string {
  const { machine, measurements, starts } = report;
  const connections = [...new Set(measurements.map((one) => one.connections))];
  const startRows = starts.map(({ title, milliseconds }) => [title, numberText(milliseconds)]);
  const keyRows = KEY_FIGURES.map(([title, aim, measured]) => [title, aim, measured(report)]);
  return [
    machine,
    ...connections.map((count) => connectionsTable(count, measurements)),
    table(['start to ready', 'ms'], startRows),
    table(
      ['figure', 'aim', 'measured'],
      keyRows.filter(([, , measured]) => measured !== NOT_MEASURED),
    ),
  ].join('\n\n');
}

/** Without it the absolute figures mean nothing. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${gigabytes} GiB, ${process.platform}, Node.js ${process.version}.`;
}

/** With three significant digits; a dash if there is no number. */
export function numberText(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return NOT_MEASURED;
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3);
}

/** What the targets did at one number of connections, and the first of them compared with each. */
function connectionsTable(connections: number, all: readonly Measurement[]): string {
  const measurements = all.filter((one) => one.connections === connections);
  const [ours, ...others] = measurements;
  const title = `${connections} connection${connections === 1 ? '' : 's'}`;
  const figures = measurements.map((measurement) => [
    measurement.title,
    measurement.node ?? NOT_MEASURED,
    numberText(figureOf(measurement, 'createsPerSecond')),
    numberText(figureOf(measurement, 'p50')),
    numberText(figureOf(measurement, 'p99')),
    numberText(figureOf(measurement, 'serverCpu')),
    numberText(figureOf(measurement, 'databaseCpu')),
    numberText(figureOf(measurement, 'plantsPerCommit')),
    megabytes(figureOf(measurement, 'peakMemory')),
  ]);
  const ratios = others.map((other) => [
    other.title,
    ratioText(compared('createsPerSecond', ours, other)),
    ratioText(compared('p50', ours, other)),
    ratioText(compared('serverCpu', ours, other)),
  ]);
  const faults = measurements.flatMap(({ title, rounds, faults }) =>
    faults.map((fault) => `- ${title}, ${rounds.length === 0 ? 'not measured' : 'not measured to the end'}: ${fault}`),
  );
  return [
    table([title, ...FIGURES], figures),
    ratios.length === 0 ? '' : table([`${title}: ${ours?.title ?? ''} ÷`, ...RATIOS], ratios),
    faults.join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** One figure of the store. */
function figure({ measurements }: Report, connections: number, name: keyof Round): number | undefined {
  const found = find(measurements, OURS, connections);
  return found && figureOf(found, name);
}

/** One figure of the store, compared with that of another target. */
function against(name: keyof Round, other: string, connections: number): (report: Report) => string {
  return ({ measurements }) =>
    ratioText(compared(name, find(measurements, OURS, connections), find(measurements, other, connections)));
}

function compared(name: keyof Round, ours: Measurement | undefined, other: Measurement | undefined): Ratio | undefined {
  const of = (one: Measurement | undefined): (number | undefined)[] => (one?.rounds ?? []).map((round) => round[name]);
  return ratioOf(of(ours), of(other));
}

function find(measurements: readonly Measurement[], target: string, connections: number): Measurement | undefined {
  return measurements.find((one) => one.target === target && one.connections === connections);
}

/** Bytes as MB. */
function megabytes(bytes: number | undefined): string {
  return numberText(bytes === undefined ? undefined : bytes / 1e6);
}

/** With its interval, if it has one. */
function ratioText(ratio: Ratio | undefined): string {
  const { median, low, high } = ratio ?? {};
  const text = numberText(median);
  return low === undefined ? text : `${text} (${numberText(low)} to ${numberText(high)})`;
}

/** A table of Markdown that can be read as it is. The first column is text, the others are numbers. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((_, column) => Math.max(3, ...[header, ...rows].map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => pad(row[column] ?? '', width, column)).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
