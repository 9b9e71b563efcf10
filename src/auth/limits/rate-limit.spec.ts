import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Principal } from '../principal.js';
import { MemoryRateCounter } from './memory-rate-counter.js';
import { RateCounter } from './rate-counter.js';
import { RateLimit } from './rate-limit.js';
import { RateLimitedError } from './rate-limited.error.js';

const ALICE: Principal = { name: 'alice', scopes: [] };

class UnableCounter extends RateCounter {
  count(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}

const newResponse = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

describe(RateLimit.name, () => {
  let rateLimit: RateLimit;

  beforeEach(async () => {
    jest.useFakeTimers({ now: 1_700_000_000_000 });
    rateLimit = new RateLimit(2, await MemoryRateCounter.create());
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Whether a request passes, how many are left, and when the next window begins. */
  async function request(principal = ALICE): Promise<unknown[]> {
    const response = newResponse();
    const passed = await rateLimit.count(principal, response).then(
      () => true,
      (error: unknown) => (error instanceof RateLimitedError ? error.headers : error),
    );
    return [passed, response.getHeader('RateLimit-Remaining'), response.getHeader('RateLimit-Reset')];
  }

  it('should let as many requests pass as the limit has, and tell how many are left', async () => {
    expect(await request()).toEqual([true, '1', '60']);
    expect(await request()).toEqual([true, '0', '60']);
    expect(await request()).toEqual([{ 'Retry-After': '60' }, '0', '60']);
  });

  it('should begin anew when the window is over, not before', async () => {
    await request();
    jest.advanceTimersByTime(58_500);
    await request();
    expect(await request()).toEqual([{ 'Retry-After': '2' }, '0', '2']);
    jest.advanceTimersByTime(1499);
    expect(await request()).toEqual([{ 'Retry-After': '1' }, '0', '1']);
    jest.advanceTimersByTime(1);
    expect(await request()).toEqual([true, '1', '60']);
  });

  it('should not have anybody wait longer when the clock is set back', async () => {
    await request();
    jest.setSystemTime(Date.now() - 3_600_000);
    expect(await request()).toEqual([true, '0', '60']);
    expect(await request()).toEqual([{ 'Retry-After': '60' }, '0', '60']);
    jest.advanceTimersByTime(60_000);
    expect(await request()).toEqual([true, '1', '60']);
  });

  it('should count by the key of a principal, else by its name', async () => {
    await request();
    await request();
    expect(await request({ ...ALICE, limitKey: 'alice of another source' })).toEqual([true, '1', '60']);
    expect(await request({ ...ALICE, name: 'bob' })).toEqual([true, '1', '60']);
    expect(await request({ ...ALICE, name: 'carol', limitKey: 'bob' })).toEqual([true, '0', '60']);
    expect(await request({ ...ALICE, name: '__proto__' })).toEqual([true, '1', '60']);
    expect((await request())[0]).toEqual({ 'Retry-After': '60' });
  });

  it('should forget a key with its window', async () => {
    for (let index = 0; index < 1000; index++) await request({ ...ALICE, name: `subject ${index}` });
    expect(jest.getTimerCount()).toBe(1000);
    jest.advanceTimersByTime(60_000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('should tell the limit with its window', async () => {
    const response = newResponse();
    await rateLimit.count(ALICE, response);
    expect(response.getHeaders()).toEqual({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': '60',
      'ratelimit-policy': '2;w=60',
    });
  });

  it('should count a request once, however often it is asked', async () => {
    const response = newResponse();
    for (let times = 0; times < 5; times++) await rateLimit.count(ALICE, response);
    expect(response.getHeader('RateLimit-Remaining')).toBe('1');
  });

  it('should let requests pass that cannot be counted', async () => {
    rateLimit = new RateLimit(1, new UnableCounter());
    for (let times = 0; times < 3; times++) expect(await request()).toEqual([true, undefined, undefined]);
  });

  it('should not touch an answer that was sent already', async () => {
    const response = newResponse();
    response.writeHead(503);
    await expect(rateLimit.count(ALICE, response)).resolves.toBeUndefined();
  });
});
