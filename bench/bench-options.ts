import { parseArgs } from 'node:util';
import { measuringTime, type MeasuringTime } from './measure/measuring-time.js';
import { positiveNumbers } from './option-numbers.js';
import { allTargets } from './targets/all-targets.js';
import { chosenTargets } from './targets/chosen-targets.js';
import type { Target } from './targets/target.js';

export interface BenchOptions extends MeasuringTime {
  readonly targets: readonly Target[];
  readonly connections: readonly number[];
  readonly build: string;
  readonly json: string | undefined;
  readonly chart: string | undefined;
  readonly report: string | undefined;
}

export const BENCH_USAGE = `npm run bench -- [options]

  --targets a,b          what to measure; everything unless given
  --connections 1,8,64   how many connections; 1,8,64,256 unless given
  --rounds N             3 unless given; medians are reported
  --seconds N            how long one round of one target is measured; 4 unless given
  --warm-up N            seconds of load before that; 2 unless given
  --build DIR            a build of the store; several are compared; dist unless given
  --json FILE            writes every round
  --chart FILE           writes a chart; docs/benchmark.svg in a run of everything
  --report FILE          writes what is printed; docs/benchmark.md in a run of everything`;

/** Undefined where only help was asked for. */
export function readBenchOptions(args: string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args,
    options: {
      targets: { type: 'string' },
      connections: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      'warm-up': { type: 'string', default: '2' },
      build: { type: 'string', multiple: true },
      json: { type: 'string' },
      chart: { type: 'string' },
      report: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const { targets, connections = '1,8,64,256', build = ['dist'] } = values;
  const isWhole = [targets, values.connections, values.build].every((choice) => choice === undefined);
  const all = allTargets({ builds: build });
  return {
    targets:
      targets === undefined
        ? all.filter(({ onlyByName }) => onlyByName !== true)
        : chosenTargets(targets.split(','), all),
    connections: positiveNumbers('--connections', connections),
    ...measuringTime(values),
    build: build[0] ?? '',
    json: values.json,
    chart: values.chart ?? (isWhole ? 'docs/benchmark.svg' : undefined),
    report: values.report ?? (isWhole ? 'docs/benchmark.md' : undefined),
  };
}
