import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { PlatformRequest } from '../http/platform.js';
import { RateLimitedError, TooManyWrongTokensError } from './auth.errors.js';
import { type AuthModuleOptions, authSettingsOf } from './auth.options.js';
import { CredentialLimits } from './rate-limits.js';
import type { Principal } from './token-verifier.js';

const MINUTE = 60_000;
const ALICE: Principal = { name: 'alice', scopes: [] };

const newResponse = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));
const requestFrom = (ip: string): PlatformRequest => ({ ip, socket: {} }) as unknown as PlatformRequest;

const limitsOf = (options: AuthModuleOptions): CredentialLimits =>
  new CredentialLimits(authSettingsOf({ accessTokens: ['a-token-of-20-characters-or-more'], ...options }));

describe(CredentialLimits.name, () => {
  let now: number;

  beforeEach(() => {
    now = 5000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  describe('of wrong tokens', () => {
    const ADDRESS = '192.0.2.1';
    let limits: CredentialLimits;

    beforeEach(() => {
      limits = limitsOf({ wrongTokenLimit: 3 });
    });

    /** The results of so many wrong tokens: the seconds to wait, or undefined if one is not too many. */
    function send(times: number, address = ADDRESS): unknown[] {
      return Array.from({ length: times }, () => {
        try {
          limits.countWrongToken(requestFrom(address));
          return undefined;
        } catch (error) {
          return error instanceof TooManyWrongTokensError ? error.headers['Retry-After'] : error;
        }
      });
    }

    it('should refuse more than the limit', () => {
      expect(send(5)).toEqual([undefined, undefined, undefined, '60', '60']);
    });

    it('should never ask to wait longer than the window', () => {
      // With this fraction, now + 60000 - now is more than 60000.
      now = 77928.61873896995;
      expect(send(5).slice(3)).toEqual(['60', '60']);
    });

    it('should count each address for itself', () => {
      send(5);
      expect(send(4, '192.0.2.2')).toEqual([undefined, undefined, undefined, '60']);
    });

    it('should say how long to wait, and count anew when that is over', () => {
      send(3);
      now += 1;
      expect(send(1)).toEqual(['60']);
      now += MINUTE - 2001;
      expect(send(1)).toEqual(['2']);
      now += 1999;
      expect(send(1)).toEqual(['1']);
      now += 2;
      expect(send(4)).toEqual([undefined, undefined, undefined, '60']);
    });

    it('should not have a minute go on for a client that keeps trying', () => {
      for (let second = 0; second < 60; second++) {
        send(1);
        now += 1000;
      }
      now += 1;
      expect(send(1)).toEqual([undefined]);
    });

    it('should remember 10,000 addresses, and forget the one that was silent longest', () => {
      const address = (index: number): string => `10.1.${index >> 8}.${index & 255}`;
      send(4, '192.0.2.1');
      send(4, '192.0.2.2');
      for (let index = 0; index < 9998; index++) send(1, address(index));
      expect(send(1, '192.0.2.1')).toEqual(['60']);

      send(1, address(9998));
      expect(send(1, '192.0.2.2')).toEqual([undefined]);
      expect(send(1, '192.0.2.1')).toEqual(['60']);
    });

    it('should say what is wrong and what would be right', () => {
      send(3);
      expect(() => {
        limits.countWrongToken(requestFrom(ADDRESS));
      }).toThrow(/not valid.+more than 3 .+ address.+Send a valid one.+60 s/);
    });

    it.each([{}, { wrongTokenLimit: undefined, rateLimit: 1 }])('should be 100 with %j', (options) => {
      limits = limitsOf(options);
      expect(send(100)).toEqual(Array(100).fill(undefined));
      expect(send(1)).toEqual([expect.any(String)]);
    });

    it('should be any number with 0', () => {
      limits = limitsOf({ wrongTokenLimit: 0 });
      expect(send(10_000).filter(Boolean)).toEqual([]);
    });
  });

  describe('of requests with one token', () => {
    let limits: CredentialLimits;

    beforeEach(() => {
      limits = limitsOf({ rateLimit: 2 });
    });

    /** Whether a request passes, how many are left, and when the next window begins. */
    function request(principal = ALICE): unknown[] {
      const response = newResponse();
      return [
        passes(principal, response),
        response.getHeader('RateLimit-Remaining'),
        response.getHeader('RateLimit-Reset'),
      ];
    }

    function passes(principal: Principal, response: ServerResponse): unknown {
      try {
        limits.countRequest(principal, principal.rateLimit ?? limits.rateLimit, response);
        return true;
      } catch (error) {
        return error instanceof RateLimitedError ? error.headers : error;
      }
    }

    it('should let as many requests pass as the limit has, and say how many are left', () => {
      expect(request()).toEqual([true, '1', '60']);
      expect(request()).toEqual([true, '0', '60']);
      expect(request()).toEqual([{ 'Retry-After': '60' }, '0', '60']);
    });

    it('should begin anew when the window is over, not before', () => {
      request();
      now += 58_500;
      request();
      expect(request()).toEqual([{ 'Retry-After': '2' }, '0', '2']);
      now += 1499;
      expect(request()).toEqual([{ 'Retry-After': '1' }, '0', '1']);
      now += 1;
      expect(request()).toEqual([true, '1', '60']);
    });

    it('should not have a client wait longer when the clock is set back', () => {
      jest.restoreAllMocks();
      jest.useFakeTimers({ now: 1_700_000_000_000 });
      try {
        limits = limitsOf({ rateLimit: 2 });
        request();
        jest.setSystemTime(Date.now() - 3_600_000);
        expect(request()).toEqual([true, '0', '60']);
        expect(request()).toEqual([{ 'Retry-After': '60' }, '0', '60']);
        jest.advanceTimersByTime(MINUTE);
        expect(request()).toEqual([true, '1', '60']);
      } finally {
        jest.useRealTimers();
      }
    });

    it('should count by the key of a principal, else by its name', () => {
      request();
      request();
      expect(request({ ...ALICE, limitKey: 'alice of another source' })).toEqual([true, '1', '60']);
      expect(request({ ...ALICE, name: 'bob' })).toEqual([true, '1', '60']);
      expect(request({ ...ALICE, name: 'carol', limitKey: 'bob' })).toEqual([true, '0', '60']);
      expect(request({ ...ALICE, name: '__proto__' })).toEqual([true, '1', '60']);
      expect(request()[0]).toEqual({ 'Retry-After': '60' });
    });

    it('should remember 100,000 principals, and forget the one that was silent longest', () => {
      // Nothing is set on an answer that was sent.
      const answered = (): ServerResponse => ({ headersSent: true }) as ServerResponse;
      for (const name of ['alice', 'alice', 'bob', 'bob']) limits.countRequest({ ...ALICE, name }, 2, answered());
      for (let index = 0; index < 99_998; index++) limits.countRequest({ ...ALICE, name: `${index}` }, 2, answered());
      expect(request()).toEqual([{ 'Retry-After': '60' }, '0', '60']);

      request({ ...ALICE, name: 'carol' });
      expect(request({ ...ALICE, name: 'bob' })).toEqual([true, '1', '60']);
      expect(request()).toEqual([{ 'Retry-After': '60' }, '0', '60']);
    });

    it('should say the limit with its window', () => {
      const response = newResponse();
      limits.countRequest(ALICE, 2, response);
      expect(response.getHeaders()).toEqual({
        'ratelimit-limit': '2',
        'ratelimit-remaining': '1',
        'ratelimit-reset': '60',
        'ratelimit-policy': '2;w=60',
      });
    });

    it('should count a request once, however often it is asked', () => {
      const response = newResponse();
      for (let times = 0; times < 5; times++) limits.countRequest(ALICE, 2, response);
      expect(response.getHeader('RateLimit-Remaining')).toBe('1');
    });

    it('should not touch an answer that was sent already', () => {
      const response = newResponse();
      response.writeHead(503);
      expect(passes(ALICE, response)).toBe(true);
    });

    it('should follow a limit that changes, with what was counted already', () => {
      expect(request({ ...ALICE, rateLimit: 1 })).toEqual([true, '0', '60']);
      expect(request({ ...ALICE, rateLimit: 1 })).toEqual([{ 'Retry-After': '60' }, '0', '60']);
      expect(request({ ...ALICE, rateLimit: 5 })).toEqual([true, '2', '60']);
      expect(request({ ...ALICE, rateLimit: 1 })[0]).toEqual({ 'Retry-After': '60' });
    });

    it.each([{}, { rateLimit: 0 }, { rateLimit: undefined }])('should be none with %j', (options) => {
      expect(limitsOf(options).rateLimit).toBe(0);
    });
  });
});
