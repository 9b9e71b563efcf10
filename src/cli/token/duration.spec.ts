import { describe, expect, it } from '@jest/globals';
import { UsageError } from '../usage.error.js';
import { durationSeconds } from './duration.js';

describe(durationSeconds.name, () => {
  it.each([
    ['0s', 0],
    ['45s', 45],
    ['30m', 1800],
    ['12h', 43_200],
    ['90d', 7_776_000],
    ['2w', 1_209_600],
    ['1y', 31_536_000],
    ['100y', 3_153_600_000],
    ['007d', 604_800],
  ])('should take %s for %d seconds', (text, seconds) => {
    expect(durationSeconds('--expires', text)).toBe(seconds);
  });

  it.each([
    '',
    '90',
    'd',
    '90 d',
    ' 90d',
    '90d\n',
    '1.5h',
    '-1d',
    '1D',
    '1mo',
    '1d12h',
    '٣d',
    '1e3d',
    'Infinityd',
    '99999999999d',
  ])('should not take %j for a time', (text) => {
    expect(durationSeconds('--expires', text)).toBeUndefined();
  });

  it.each(['101y', '36501d', '9999999999s'])('should refuse %s, as it is too long', (text) => {
    expect(() => durationSeconds('--expires', text)).toThrow(UsageError);
    expect(() => durationSeconds('--expires', text)).toThrow(`--expires is "${text}", should be 100y at most`);
  });
});
