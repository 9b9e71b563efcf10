import { parseArgs } from 'node:util';
import type { MeasuringTime } from './measure/measuring-time.js';
import { positiveNumber, positiveNumbers } from './option-numbers.js';
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
  --rounds N             60 unless given; medians are reported, and where ratios lie with 95 %
  --burst N              milliseconds for which one target is measured in a round; 150 unless given
  --warm-up N            seconds of load for each target before its first round; 3 unless given
  --build DIR            a build of the store; the others are compared with the first; dist unless given
  --json FILE            writes every round
  --chart FILE           writes a chart; docs/benchmark.svg in a run of everything
  --report FILE          writes what is printed; docs/benchmark.md in a run of everything`;

/** Undefined if only help was asked for. */
export function readBenchOptions(args: string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args,
    options: {
      targets: { type: 'string' },
      connections: { type: 'string' },
      rounds: { type: 'string', default: '60' },
      burst: { type: 'string', default: '150' },
      'warm-up': { type: 'string', default: '3' },
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
    rounds: positiveNumber('--rounds', values.rounds),
    seconds: positiveNumber('--burst', values.burst) / 1000,
    warmUpSeconds: positiveNumber('--warm-up', values['warm-up']),
    build: build[0] ?? '',
    json: values.json,
    chart: values.chart ?? (isWhole ? 'docs/benchmark.svg' : undefined),
    report: values.report ?? (isWhole ? 'docs/benchmark.md' : undefined),
  };
}
