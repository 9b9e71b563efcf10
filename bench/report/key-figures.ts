import { megabytes, NOT_MEASURED, numberText } from './number-text.js';
import { figure, ratio, type Report } from './report.js';
import { table } from './table.js';

const OURS = 'plant-store';

/** The figures that tell most, with what they are meant to be. */
const KEY_FIGURES: readonly (readonly [title: string, aim: string, measured: (report: Report) => string])[] = [
  ['creates/s at 64 ÷ Fastify + postgres.js', '≥ 1.5', rates(OURS, 'fastify-postgres', 64)],
  ['creates/s at 64 ÷ echo', '≥ 0.6', rates(OURS, 'echo', 64)],
  ['creates/s at 256 ÷ Nest + Prisma, as documented', '≥ 8', rates(OURS, 'nest-prisma', 256)],
  ['p50 at 1 ÷ Fastify + pg', '≤ 1.25', (report) => quotient(report, 'p50', OURS, 'fastify-pg', 1)],
  ['p99 at 64 ÷ Fastify + postgres.js', '≤ 0.8', (report) => quotient(report, 'p99', OURS, 'fastify-postgres', 64)],
  ['creates/s at 64 ÷ Fastify + pg', '≥ 1', rates(OURS, 'fastify-pg', 64)],
  ['plants per commit at 64', '≥ 10', (report) => numberText(figure(report, OURS, 64, 'plantsPerCommit'))],
  ['peak memory at 256, MB', '≤ 180', (report) => megabytes(figure(report, OURS, 256, 'peakMemory'))],
  [
    'creates/s at 64, issued ÷ static token',
    '≥ 0.97',
    rates('plant-store-issued-token', 'plant-store-static-token', 64),
  ],
  [
    'start to ready, ms',
    '≤ 1,500',
    ({ starts }) => numberText(starts.find((one) => one.target === OURS)?.milliseconds),
  ],
];

/** Those of them that this run has measured. */
export function keyFigures(report: Report): string {
  const rows = KEY_FIGURES.map(([title, aim, measured]) => [title, aim, measured(report)]);
  return table(
    ['figure', 'aim', 'measured'],
    rows.filter(([, , measured]) => measured !== NOT_MEASURED),
  );
}

function rates(ours: string, other: string, connections: number): (report: Report) => string {
  return (report) => quotient(report, 'createsPerSecond', ours, other, connections);
}

function quotient(
  report: Report,
  name: 'createsPerSecond' | 'p50' | 'p99',
  ours: string,
  other: string,
  connections: number,
): string {
  return numberText(ratio(figure(report, ours, connections, name), figure(report, other, connections, name)));
}
