import { figureOf } from '../measure/measurement.js';
import { numberText } from '../report/number-text.js';
import { ratio } from '../report/report.js';
import { table } from '../report/table.js';
import type { GrowthMeasurement } from './measure-growth.js';

/** The rate at each size, compared with the same target's at its smallest. */
export function growthTable(measurements: readonly GrowthMeasurement[]): string {
  const rows = measurements.map((measurement) => {
    const smallest = measurements.find(({ target }) => target === measurement.target);
    const rate = figureOf(measurement, 'createsPerSecond');
    return [
      measurement.title,
      measurement.size.toLocaleString('en-US'),
      numberText(rate),
      numberText(ratio(rate, smallest && figureOf(smallest, 'createsPerSecond'))),
      numberText(figureOf(measurement, 'p50')),
      numberText(figureOf(measurement, 'p99')),
      numberText(figureOf(measurement, 'databaseCpu')),
    ];
  });
  const faults = measurements.flatMap(({ title, size, faults }) =>
    faults.map((fault) => `- ${title} with ${size} plants, not measured: ${fault}`),
  );
  const header = ['', 'plants before', 'creates/s', '÷ the first', 'p50 ms', 'p99 ms', 'PostgreSQL CPU s/1000'];
  return [table(header, rows), ...faults].join('\n');
}
