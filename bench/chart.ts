import type { Measurement } from './measure.js';
import { figureOf, numberText } from './report.js';

/** At which the targets differ best. */
const CONNECTIONS = 64;

const ROW = 28;
const TOP = 64;
const LABELS = 220;
const BARS = 230;
const GAP = 90;
// Each can be distinguished from a white background as well as from a black one.
const [TEXT, OURS, OTHERS] = ['#7d8590', '#2da44e', '#8c959f'];

/** Two bars for each target: how much it does, and how long it takes. An SVG on a transparent background. */
export function drawChart(measurements: readonly Measurement[]): string {
  const shown = measurements.filter(({ connections }) => connections === CONNECTIONS);
  const [left, right] = [LABELS, LABELS + BARS + GAP];
  const title = `Creates at ${CONNECTIONS} connections`;
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
