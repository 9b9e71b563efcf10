import { describe, expect, it } from '@jest/globals';
import { retryAfter } from './errors.js';

describe(retryAfter.name, () => {
  it.each([
    ['0', 0],
    ['120', 120],
    ['Sun, 06 Nov 1994 08:49:40 GMT', 3],
    ['Sunday, 06-Nov-94 08:49:40 GMT', 3],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['2026', 2026],
    ['2026-10-06', undefined],
    ['soon GMT', undefined],
  ])('should read %j as %p seconds', (value, seconds) => {
    const headers = new Headers({ 'Retry-After': value, Date: 'Sun, 06 Nov 1994 08:49:37 GMT' });
    expect(retryAfter(headers)).toBe(seconds);
  });

  it('should go by its own clock if the answer does not tell that of its sender, as in a browser', () => {
    const headers = new Headers({ 'Retry-After': new Date(Date.now() + 60_000).toUTCString() });
    expect(retryAfter(headers)).toBeGreaterThan(50);
    expect(retryAfter(headers)).toBeLessThanOrEqual(60);
    expect(retryAfter(new Headers())).toBeUndefined();
  });
});
