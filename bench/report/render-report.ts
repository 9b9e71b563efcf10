import { connectionsTable } from './connections-table.js';
import { keyFigures } from './key-figures.js';
import { numberText } from './number-text.js';
import type { Report } from './report.js';
import { table } from './table.js';

/** The whole report as Markdown. */
export function renderReport(report: Report): string {
  const { machine, measurements, starts } = report;
  const connections = [...new Set(measurements.map((one) => one.connections))];
  return [
    machine,
    ...connections.map((count) =>
      connectionsTable(
        count,
        measurements.filter((one) => one.connections === count),
      ),
    ),
    table(
      ['start to ready', 'ms'],
      starts.map(({ title, milliseconds }) => [title, numberText(milliseconds)]),
    ),
    keyFigures(report),
  ].join('\n\n');
}
