import { describe, expect, it } from '@jest/globals';
import { UsageError } from '../usage.error.js';
import { parseExpiry } from './expiry.js';

describe(parseExpiry.name, () => {
  it.each([
    ['30m', { seconds: 1800 }],
    ['90d', { seconds: 7_776_000 }],
    ['never', 'never'],
  ])('should read %s', (text, expiry) => {
    expect(parseExpiry(text)).toEqual(expiry);
  });

  it.each([
    ['2030-12-31', '2030-12-31T23:59:59.999Z'],
    ['2028-02-29', '2028-02-29T23:59:59.999Z'],
    ['2030-12-31T18:00', '2030-12-31T18:00:00.000Z'],
    ['2030-12-31T18:00Z', '2030-12-31T18:00:00.000Z'],
    ['2030-12-31T18:00:05.5Z', '2030-12-31T18:00:05.500Z'],
    ['2030-12-31T18:00:00+02:00', '2030-12-31T16:00:00.000Z'],
    ['2030-12-31T23:00-02:30', '2031-01-01T01:30:00.000Z'],
  ])('should take %s for the moment %s', (text, at) => {
    expect(parseExpiry(text)).toEqual({ at: new Date(at) });
  });

  it.each([
    '',
    'Never',
    'tomorrow',
    '90',
    '0d',
    '0s',
    '-1d',
    '2030-02-30',
    '2029-02-29',
    '2030-13-01',
    '2030-00-10',
    '2030-1-1',
    '31.12.2030',
    '12/31/2030',
    '20301231',
    '2030-12-31 18:00',
    '2030-12-31T25:00Z',
    '2030-12-31T18:00+99:00',
    '2030-12-31T18',
    '2030-12-31T',
    '+275760-09-13',
    ' 90d',
    "90d'; DROP TABLE plants; --",
  ])('should refuse %j and say what there may be', (text) => {
    expect(() => parseExpiry(text)).toThrow(UsageError);
    expect(() => parseExpiry(text)).toThrow(/^--expires is ".*", should be a time from now such as 30m, .*or never$/);
  });

  it.each(['0000-01-01', '0000-12-31T23:59Z', '0001-01-01T00:00+14:00'])(
    'should refuse %s, before which there is nothing',
    (text) => {
      expect(() => parseExpiry(text)).toThrow(UsageError);
      expect(() => parseExpiry(text)).toThrow(`--expires is "${text}", should be in the future`);
    },
  );

  it.each(['0001-01-01', '9999-12-31', '9999-12-31T23:59:59.999Z'])('should take %s', (text) => {
    expect(parseExpiry(text)).toEqual({ at: expect.any(Date) as unknown });
  });

  it('should refuse what comes after the years of four digits', () => {
    expect(() => parseExpiry('9999-12-31T23:59-01:00')).toThrow(
      '--expires is "9999-12-31T23:59-01:00", should be in the year 9999 at the latest, or never',
    );
  });
});
