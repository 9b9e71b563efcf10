import { describe, expect, it } from '@jest/globals';
import { drawChart } from '../../bench/chart.js';
import { type Measurement, ratioOf, type Round } from '../../bench/figures.js';
import { readBenchOptions } from '../../bench/options.js';
import { renderReport } from '../../bench/report.js';

const round = (createsPerSecond: number, more: Partial<Round> = {}): Round => ({
  createsPerSecond,
  p50: 1,
  p99: 2,
  ...more,
});
const measurement = (target: string, rounds: Round[], faults: string[] = []): Measurement => ({
  target,
  title: `<${target}>`,
  node: target === 'pgbench' ? undefined : '24.1.0',
  connections: 64,
  rounds,
  faults,
});
const report = {
  machine: 'A machine.',
  starts: [{ target: 'plant-store', title: 'plant store', milliseconds: 700 }],
  measurements: [
    measurement('plant-store', [round(900), round(3000, { p99: 1 }), round(1200)]),
    measurement('fastify-postgres', [round(600, { p99: 5 })], ['a connection was closed without an answer']),
    measurement('echo', [round(4000)]),
    measurement('pgbench', [], ['it did not start']),
  ],
};
const rows = renderReport(report)
  .split('\n')
  .map((line) => line.replace(/ +/g, ' '));

describe(renderReport.name, () => {
  it('should tell medians, and what they run on', () => {
    expect(rows).toContain('| <plant-store> | 24.1.0 | 1,200 | 1.00 | 2.00 | – | – | – | – |');
    expect(rows).toContain('| <pgbench> | – | – | – | – | – | – | – | – |');
  });

  it('should tell how many times as much the store does, round by round', () => {
    expect(rows).toContain('| 64 connections: <plant-store> ÷ | creates/s | p50 | CPU |');
    expect(rows).toContain('| <fastify-postgres> | 1.50 | 1.00 | – |');
    expect(rows).toContain('| <pgbench> | – | – | – |');
  });

  it('should tell the key figures that were measured, and no others', () => {
    expect(rows.slice(rows.indexOf('| figure | aim | measured |'))).toEqual([
      '| figure | aim | measured |',
      expect.stringMatching(/^\| -/),
      '| creates/s at 64 ÷ Fastify + postgres.js | ≥ 1.5 | 1.50 |',
      '| creates/s at 64 ÷ echo | ≥ 0.6 | 0.225 |',
      '| p99 at 64 ÷ Fastify + postgres.js | ≤ 0.8 | 0.400 |',
      '| start to ready, ms | ≤ 1,300 | 700 |',
    ]);
  });

  it('should tell why something was not measured', () => {
    expect(rows).toContain('- <fastify-postgres>, not measured to the end: a connection was closed without an answer');
    expect(rows).toContain('- <pgbench>, not measured: it did not start');
  });
});

describe(ratioOf.name, () => {
  const numbers = Array.from({ length: 60 }, (_, index) => index + 1);
  const ones = numbers.map(() => 1);

  it('should be the median of the ratios of each round, not the ratio of the medians', () => {
    expect(ratioOf([1, 2, 30], [1, 1, 10])).toMatchObject({ median: 2 });
    expect(ratioOf([1, 2, 30, 4], [1, 1])).toMatchObject({ median: 1.5 });
  });

  it('should lie with 95 % between two ratios as far from the middle', () => {
    // The 22nd of 60 from either end: fewer than 22 of 60 fair coins show heads in 1.4 % of the cases, fewer than 23 in 2.6 %.
    expect(ratioOf(numbers.toReversed(), ones)).toEqual({ median: 30.5, low: 22, high: 39 });
    expect(ratioOf(numbers.slice(0, 8), ones)).toEqual({ median: 4.5, low: 1, high: 8 });
  });

  it('should have no interval for a few rounds, and not be if a figure is missing', () => {
    expect(ratioOf(numbers.slice(0, 7), ones)).toEqual({ median: 4, low: undefined, high: undefined });
    expect(ratioOf([1, undefined], [1, 1])).toBeUndefined();
    expect(ratioOf([], [])).toBeUndefined();
  });
});

describe(drawChart.name, () => {
  it('should draw two bars for each target that was measured', () => {
    const chart = drawChart(report);

    expect(chart.match(/<rect /g)).toHaveLength(6);
    expect(chart).toContain('>&lt;plant-store></text>');
    expect(chart).not.toContain('pgbench');
  });
});

describe(readBenchOptions.name, () => {
  it('should write the committed files only in a run of everything', () => {
    expect(readBenchOptions([])).toMatchObject({ report: 'docs/benchmark.md', chart: 'docs/benchmark.svg' });
    expect(readBenchOptions(['--connections', '64'])).toMatchObject({ report: undefined, chart: undefined });
  });

  it('should choose every build of the store, in their order', () => {
    const options = readBenchOptions(['--build', 'dist', '--build', '../b/dist', '--targets', 'echo,plant-store']);

    expect(options?.targets.map(({ name }) => name)).toEqual(['plant-store', 'plant-store-2', 'echo']);
  });

  it('should refuse what it does not know', () => {
    expect(() => readBenchOptions(['--targets', 'echoes'])).toThrow('There is no target echoes');
    expect(() => readBenchOptions(['--rounds', '0'])).toThrow('--rounds is "0", should be a whole number from 1 on');
  });
});
