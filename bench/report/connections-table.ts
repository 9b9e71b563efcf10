import { figureOf, type Measurement } from '../measure/measurement.js';
import { megabytes, NOT_MEASURED, numberText, ratioText } from './number-text.js';
import { compared } from './report.js';
import { table } from './table.js';

const FIGURES = ['Node.js', 'creates/s', 'p50 ms', 'p99 ms', 'CPU µs', 'PostgreSQL CPU µs', 'plants/commit', 'peak MB'];
const RATIOS = ['creates/s', 'p50', 'CPU'];

/** What the targets did at one number of connections, and the first of them compared with each. */
export function connectionsTable(connections: number, measurements: readonly Measurement[]): string {
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
