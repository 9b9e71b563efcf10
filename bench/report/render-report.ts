import { median } from '../measure/median.js';
import { connectionsTable } from './connections-table.js';
import { keyFigures } from './key-figures.js';
import { numberText } from './number-text.js';
import { figure, type Report } from './report.js';
import { table } from './table.js';

/** The whole report as Markdown. */
export function renderReport(report: Report): string {
  const { machine, generator, measurements, starts } = report;
  const connections = [...new Set(measurements.map((one) => one.connections))];
  return [
    machine,
    `Load: ${generator}.${againstEcho(report, connections)}`,
    disturbance(report, connections),
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
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Whether the machine had time for it. */
function disturbance({ measurements }: Report, connections: readonly number[]): string {
  const lines = connections.map((count) => {
    const rounds = measurements.filter((one) => one.connections === count).flatMap((one) => one.rounds);
    const load = median(rounds.map(({ otherLoad }) => otherLoad));
    return load === undefined ? undefined : `${Math.round(load * 100)} % at ${count}`;
  });
  const known = lines.filter((one) => one !== undefined);
  return known.length === 0 ? '' : `Meanwhile other programs took of the machine: ${known.join('; ')}.`;
}

/** Whether the generator could have asked for more. */
function againstEcho(report: Report, connections: readonly number[]): string {
  const lines = connections.map((count) => {
    const rate = figure(report, 'echo', count, 'createsPerSecond');
    const load = figure(report, 'echo', count, 'generatorLoad');
    const busy = load === undefined ? '' : `, busy for ${Math.round(load * 100)} % of the time`;
    return rate === undefined ? undefined : `${numberText(rate)}/s at ${count}${busy}`;
  });
  const known = lines.filter((one) => one !== undefined);
  return known.length === 0 ? '' : ` Against the echo it reaches ${known.join('; ')}.`;
}
