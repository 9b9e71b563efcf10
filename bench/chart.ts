import { figureOf, type Measurement } from './figures.js';
import { numberText, type Report } from './report.js';

/** At which the targets differ best; the next lower one if that was not measured. */
const CONNECTIONS = 64;

const ROW = 28;
const TOP = 64;
const LABELS = 220;
const BARS = 230;
const GAP = 90;
// Each can be distinguished from a white background as well as from a black one.
const [TEXT, OURS, OTHERS] = ['#7d8590', '#2da44e', '#8c959f'];
/** They do less than the others: drawn hollow. */
const LIMITS = ['echo', 'pgbench'];

/** Two bars for each target: how much it does, and how long it takes. An SVG on a transparent background. */
export function drawChart({ measurements }: Report): string {
  const connections = Math.max(...measurements.map((one) => one.connections).filter((count) => count <= CONNECTIONS));
  const shown = measurements.filter((one) => one.connections === connections && one.rounds.length > 0);
  const width = LABELS + 2 * (BARS + GAP);
  const height = TOP + shown.length * ROW + 8;
  const [left, right] = [LABELS, LABELS + BARS + GAP];
  const rows = shown.map(({ title }, index) => text(LABELS - 10, middle(index), title, 'end'));
  const title = `Creates at ${connections} connections`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="13">
${text(0, 20, title, 'start', 'bold')}
${text(left, 46, 'creates/s (more is better)')}
${text(right, 46, '99th percentile, ms (less is better)')}
${rows.join('\n')}
${bars(left, shown, 'createsPerSecond')}
${bars(right, shown, 'p99')}
</svg>
`;
}

function bars(x: number, measurements: readonly Measurement[], name: 'createsPerSecond' | 'p99'): string {
  const values = measurements.map((one) => figureOf(one, name) ?? 0);
  const longest = Math.max(...values);
  return values
    .map((value, index) => {
      const width = Math.max(1, (value / longest) * BARS);
      const target = measurements[index]?.target ?? '';
      const colour = target.startsWith('plant-store') ? OURS : OTHERS;
      const paint = `stroke="${colour}" fill="${LIMITS.includes(target) ? 'none' : colour}"`;
      const bar = `<rect x="${x}" y="${middle(index) - 9}" width="${width.toFixed(1)}" height="18" rx="2" ${paint}/>`;
      return `${bar}\n${text(x + width + 6, middle(index), numberText(value))}`;
    })
    .join('\n');
}

function middle(index: number): number {
  return TOP + index * ROW + ROW / 2;
}

function text(x: number, y: number, content: string, anchor = 'start', weight = 'normal'): string {
  const place = `x="${x.toFixed(1)}" y="${y}" dominant-baseline="middle" text-anchor="${anchor}" font-weight="${weight}"`;
  return `<text ${place} fill="${TEXT}">${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;
}
