import type { Measurement } from './measure.js';
import { figureOf, numberText, quantile } from './report.js';

const ROW = 28;
const TOP = 64;
const LABELS = 300;
const BARS = 230;
const GAP = 90;
// Each can be distinguished from a white background as well as from a black one.
const [TEXT, OURS, OTHERS] = ['#7d8590', '#2da44e', '#8c959f'];

/** Two bars for each target: how much it does, and how long it takes. An SVG on a transparent background. */
export function drawChart(measurements: readonly Measurement[], connections: number): string {
  const [left, right] = [LABELS, LABELS + BARS + GAP];
  const title = `Creates at ${connections} connections`;
  const lines = [
    text(0, 20, title, 'font-weight="bold"'),
    text(left, 46, 'creates/s (more is better)'),
    text(right, 46, '99th percentile, ms (less is better)'),
    ...measurements.map(({ target }, row) =>
      text(LABELS - 10, middleOf(row), `${target.title}, ${target.runtime}`, 'text-anchor="end"'),
    ),
    ...bars(left, measurements, (one) => figureOf(one, 'createsPerSecond')),
    ...bars(right, measurements, ({ latencies }) => quantile(latencies, 0.99)),
  ];
  const size = `${LABELS + 2 * (BARS + GAP)} ${TOP + measurements.length * ROW + 8}`;
  const label = `role="img" aria-label="${title}"`;
  const font = 'font-family="system-ui, sans-serif" font-size="13"';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" ${label} ${font}>
${lines.join('\n')}
</svg>
`;
}

function bars(x: number, measurements: readonly Measurement[], figure: (one: Measurement) => number): string[] {
  const longest = Math.max(...measurements.map(figure));
  return measurements.flatMap((one, row) => {
    const value = figure(one);
    const width = (value / longest) * BARS;
    const colour = one.target.isStore ? OURS : OTHERS;
    const place = `x="${x}" y="${middleOf(row) - 9}"`;
    const bar = `<rect ${place} width="${width.toFixed(1)}" height="18" rx="2" fill="${colour}"/>`;
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
