import { describe, expect, it } from '@jest/globals';
import { ratioOf } from '../../bench/figures.js';
import { readBenchOptions } from '../../bench/options.js';

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
