import { parseArgs } from 'node:util';
import { allTargets, chosenTargets, type Target } from './targets.js';

/** How long, and how often, each target is measured. */
export interface MeasuringTime {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

export interface BenchOptions extends MeasuringTime {
  readonly targets: readonly Target[];
  readonly connections: readonly number[];
  readonly build: string;
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
      chart: { type: 'string' },
      report: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const { targets, connections = '1,8,64,256', build = ['dist'] } = values;
  const isWhole = [targets, values.connections, values.build].every((choice) => choice === undefined);
  const all = allTargets(build);
  return {
    targets: targets === undefined ? all : chosenTargets(targets.split(','), all),
    connections: connections.split(',').map((count) => positiveNumber('--connections', count)),
    rounds: positiveNumber('--rounds', values.rounds),
    seconds: positiveNumber('--burst', values.burst) / 1000,
    warmUpSeconds: positiveNumber('--warm-up', values['warm-up']),
    build: build[0] ?? '',
    chart: values.chart ?? (isWhole ? 'docs/benchmark.svg' : undefined),
    report: values.report ?? (isWhole ? 'docs/benchmark.md' : undefined),
  };
}

function positiveNumber(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new RangeError(`${option} is "${text}", should be a whole number from 1 on`);
  return Number(text);
}
