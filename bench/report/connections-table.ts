import { figureOf, type Measurement } from '../measure/measurement.js';
import { megabytes, numberText } from './number-text.js';
import { ratio } from './report.js';
import { table } from './table.js';

const HEADER = [
  'creates/s',
  'store ÷ it',
  'p50 ms',
  'p99 ms',
  'peak MB',
  'CPU s/1000',
  'PostgreSQL CPU s/1000',
  'plants/commit',
];

/** What the targets did at one number of connections, the first of them compared with each. */
export function connectionsTable(connections: number, measurements: readonly Measurement[]): string {
  const [ours] = measurements;
  const rows = measurements.map((measurement) => {
    const rate = figureOf(measurement, 'createsPerSecond');
    return [
      measurement.title,
      numberText(rate),
      numberText(ratio(ours && figureOf(ours, 'createsPerSecond'), rate)),
      numberText(figureOf(measurement, 'p50')),
      numberText(figureOf(measurement, 'p99')),
      megabytes(figureOf(measurement, 'peakMemory')),
      numberText(figureOf(measurement, 'serverCpu')),
      numberText(figureOf(measurement, 'databaseCpu')),
      numberText(figureOf(measurement, 'plantsPerCommit')),
    ];
  });
  const faults = measurements.flatMap(({ title, rounds, faults }) =>
    faults.map(
      (fault) => `- ${title}, ${rounds.length === 0 ? 'not measured' : 'a round that does not count'}: ${fault}`,
    ),
  );
  const text = table([`${connections} connection${connections === 1 ? '' : 's'}`, ...HEADER], rows);
  return faults.length === 0 ? text : `${text}\n\n${faults.join('\n')}`;
}
