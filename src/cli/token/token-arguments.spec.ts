import { describe, expect, it } from '@jest/globals';
import { makeToken } from '../../auth/token-format.js';
import { UsageError } from '../parser.js';
import { durationSeconds, parseExpiry, parseScopes } from './token-arguments.js';

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

  it.each(['0001-01-01', '9999-12-31', '9999-12-31T23:59:59.999Z'])('should take %s', (text) => {
    expect(parseExpiry(text)).toEqual({ at: expect.any(Date) as unknown });
  });
});

describe(parseScopes.name, () => {
  it.each([
    [['plants:create'], ['plants:create']],
    [
      ['plants:create', 'orders:read'],
      ['plants:create', 'orders:read'],
    ],
    [['plants:create,orders:read'], ['plants:create', 'orders:read']],
    [
      [' b:1  a:1,\tb:1 ,', 'a:1'],
      ['b:1', 'a:1'],
    ],
    [["https://example.com/scopes#a?b=[c]&d'!~"], ["https://example.com/scopes#a?b=[c]&d'!~"]],
  ])('should read %j, each scope once', (values, scopes) => {
    expect(parseScopes(values)).toEqual(scopes);
  });

  it.each(['"', 'a"b', 'a\\b', 'grün', 'a\u0000b', '\u001b[31m', '\u007f', 'x'.repeat(101)])(
    'should refuse %j',
    (scope) => {
      expect(() => parseScopes(['plants:create', scope])).toThrow(UsageError);
      expect(() => parseScopes([scope])).toThrow('should have 1 to 100 visible ASCII characters');
    },
  );

  it.each(['plants:read', 'PLANTS:delete', 'plants.create', 'create', 'orders', ':read'])(
    'should refuse %j, which the store does not know, and which is not of an application',
    (scope) => {
      expect(() => parseScopes(['plants:create', scope])).toThrow(UsageError);
      expect(() => parseScopes([scope])).toThrow(
        /^there is no scope ".*The store has one, plants:create; a scope of your own/,
      );
    },
  );

  it.each([[['']], [[' , ']]])('should refuse %j, which names none', (values) => {
    expect(() => parseScopes(values)).toThrow('--scope is empty, should be a scope such as plants:create');
  });

  it('should refuse a token, and not repeat it', () => {
    const token = makeToken();
    expect(() => parseScopes([token])).toThrow('--scope is an access token, should be a scope such as plants:create');
  });

  it('should refuse more than anybody has use for', () => {
    const scopes = Array.from({ length: 51 }, (_, index) => `orders:${index}`);
    expect(parseScopes(scopes.slice(1))).toHaveLength(50);
    expect(() => parseScopes(scopes)).toThrow('--scope names 51 scopes, should be 50 at most');
  });
});
