import type { Round } from '../measure/round.js';
import { megabytes, NOT_MEASURED, numberText, ratioText } from './number-text.js';
import { figure, quotient, type Report } from './report.js';
import { table } from './table.js';

const OURS = 'plant-store';

/** The figures that tell most, with what they are meant to be. */
const KEY_FIGURES: readonly (readonly [title: string, aim: string, measured: (report: Report) => string])[] = [
  ['creates/s at 64 ÷ Fastify + postgres.js', '≥ 1.5', store('createsPerSecond', 'fastify-postgres', 64)],
  ['creates/s at 64 ÷ Fastify + pg', '≥ 1', store('createsPerSecond', 'fastify-pg', 64)],
  ['creates/s at 64 ÷ echo', '≥ 0.6', store('createsPerSecond', 'echo', 64)],
  ['creates/s at 256 ÷ Nest + Prisma, as documented', '≥ 8', store('createsPerSecond', 'nest-prisma', 256)],
  ['p50 at 1 ÷ Fastify + pg', '≤ 1.15', store('p50', 'fastify-pg', 1)],
  ['p50 at 8 ÷ Fastify + pg', '≤ 1', store('p50', 'fastify-pg', 8)],
  ['p99 at 64 ÷ Fastify + postgres.js', '≤ 0.8', store('p99', 'fastify-postgres', 64)],
  ['plants per commit at 64', '≥ 10', (report) => numberText(figure(report, OURS, 64, 'plantsPerCommit'))],
  ['peak memory at 256, MB', '≤ 180', (report) => megabytes(figure(report, OURS, 256, 'peakMemory'))],
  [
    'creates/s at 64, issued ÷ static token',
    '≥ 0.97',
    (report) =>
      ratioText(quotient(report, 'createsPerSecond', 'plant-store-issued-token', 'plant-store-static-token', 64)),
  ],
  [
    'start to ready, ms',
    '≤ 1,300',
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

function store(name: keyof Round, other: string, connections: number): (report: Report) => string {
  return (report) => ratioText(quotient(report, name, OURS, other, connections));
}
