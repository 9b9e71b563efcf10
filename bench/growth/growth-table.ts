import { figureOf } from '../measure/measurement.js';
import { numberText } from '../report/number-text.js';
import { ratio } from '../report/report.js';
import { table } from '../report/table.js';
import type { GrowthMeasurement } from './measure-growth.js';

const HEADER = [
  'plants before',
  'table B/row',
  'index B/row',
  'creates/s',
  '÷ the first',
  'index reads/create',
  'WAL B/create',
  'p50 ms',
  'p99 ms',
  'PostgreSQL CPU µs',
];

/** The rate at each size, compared with the same target's at its smallest, with ids of the same order. */
export function growthTable(measurements: readonly GrowthMeasurement[]): string {
  const rows = measurements.map((measurement) => {
    const { title, ids, size, before } = measurement;
    const smallest = measurements.find((one) => one.target === measurement.target && one.ids === ids);
    const rate = figureOf(measurement, 'createsPerSecond');
    return [
      `${title}, ${ids} ids`,
      size.toLocaleString('en-US'),
      numberText(size > 0 ? before.tableBytes / size : undefined),
      numberText(size > 0 ? before.indexBytes / size : undefined),
      numberText(rate),
      numberText(ratio(rate, smallest && figureOf(smallest, 'createsPerSecond'))),
      numberText(indexReads(measurement)),
      numberText(figureOf(measurement, 'walBytes')),
      numberText(figureOf(measurement, 'p50')),
      numberText(figureOf(measurement, 'p99')),
      numberText(figureOf(measurement, 'databaseCpu')),
    ];
  });
  const faults = measurements.flatMap(({ title, size, faults }) =>
    faults.map((fault) => `- ${title} with ${size} plants, not measured: ${fault}`),
  );
  return [table(['', ...HEADER], rows), ...faults].join('\n');
}

/** Over all rounds, with what warmed them up. */
function indexReads({ before, after }: GrowthMeasurement): number | undefined {
  return after && (after.indexReads - before.indexReads) / (after.inserts - before.inserts);
}
