import { describe, expect, it } from '@jest/globals';
import { readBenchOptions } from '../../bench/bench-options.js';
import { readGrowthOptions } from '../../bench/growth/growth-options.js';
import { scatter } from '../../bench/load/ids.js';
import type { Measurement } from '../../bench/measure/measurement.js';
import type { Round } from '../../bench/measure/round.js';
import { drawChart } from '../../bench/report/chart.js';
import { renderReport } from '../../bench/report/render-report.js';

const round = (createsPerSecond: number, more: Partial<Round> = {}): Round => ({
  createsPerSecond,
  p50: 1,
  p99: 2,
  ...more,
});
const measurement = (target: string, rounds: Round[], faults: string[] = []): Measurement => ({
  target,
  title: `<${target}>`,
  connections: 64,
  rounds,
  faults,
});
const report = {
  machine: 'A machine.',
  generator: 'wrk 4',
  starts: [{ target: 'plant-store', title: 'plant store', milliseconds: 700 }],
  measurements: [
    measurement('plant-store', [round(900), round(3000, { p99: 1 }), round(1200)]),
    measurement('fastify-postgres', [round(600, { p99: 5 })], ['5 requests were not answered with 200']),
    measurement('echo', [round(4000, { generatorLoad: 0.25, otherLoad: 0.1 })]),
    measurement('pgbench', [], ['it did not start']),
  ],
};
const rows = renderReport(report)
  .split('\n')
  .map((line) => line.replace(/ +/g, ' '));

describe(renderReport.name, () => {
  it('should tell medians, and how many times as much the store does', () => {
    expect(rows).toContain('| <plant-store> | 1,200 | 1.00 | 1.00 | 2.00 | – | – | – | – |');
    expect(rows).toContain('| <fastify-postgres> | 600 | 2.00 | 1.00 | 5.00 | – | – | – | – |');
  });

  it('should tell the key figures that were measured, and no others', () => {
    expect(rows.slice(rows.indexOf('| figure | aim | measured |'))).toEqual([
      '| figure | aim | measured |',
      expect.stringMatching(/^\| -/),
      '| creates/s at 64 ÷ Fastify + postgres.js | ≥ 1.5 | 2.00 |',
      '| creates/s at 64 ÷ echo | ≥ 0.6 | 0.300 |',
      '| p99 at 64 ÷ Fastify + postgres.js | ≤ 0.8 | 0.400 |',
      '| start to ready, ms | ≤ 1,500 | 700 |',
    ]);
  });

  it('should tell why something was not measured, and what the load generator could have done', () => {
    expect(rows).toContain('- <fastify-postgres>, a round that does not count: 5 requests were not answered with 200');
    expect(rows).toContain('- <pgbench>, not measured: it did not start');
    expect(rows).toContain('Load: wrk 4. Against the echo it reaches 4,000/s at 64, busy for 25 % of the time.');
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
    const tokens = readBenchOptions(['--targets', 'plant-store-issued-token']);
    expect(tokens?.targets.map(({ name }) => name)).toEqual(['plant-store-issued-token', 'plant-store-static-token']);
  });

  it('should refuse what it does not know', () => {
    expect(() => readBenchOptions(['--targets', 'echoes'])).toThrow('There is no target echoes');
    expect(() => readBenchOptions(['--rounds', '0'])).toThrow('--rounds is "0", should be a whole number from 1 on');
  });
});

describe(readGrowthOptions.name, () => {
  it('should measure random and ascending ids, and refuse others', () => {
    expect(readGrowthOptions([])).toMatchObject({ ids: ['random', 'ascending'], sharedBuffers: '32MB' });
    expect(() => readGrowthOptions(['--ids', 'any'])).toThrow('--ids is "any", should be random, ascending or both');
  });
});

describe(scatter.name, () => {
  it('should spread numbers over all of int64', () => {
    const ids = Array.from({ length: 1000 }, (_, index) => scatter(BigInt(index)));
    expect(new Set(ids).size).toBe(1000);
    const quarters = ids.map((id) => Number(id >> 62n));
    for (const quarter of [-2, -1, 0, 1]) expect(quarters.filter((one) => one === quarter).length).toBeGreaterThan(200);
    // As create-plants.lua has it.
    expect(scatter(100_010_000_000_001n)).toBe(5_488_164_714_147_542_052n);
  });
});
