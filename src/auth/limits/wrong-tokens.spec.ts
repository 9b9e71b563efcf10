import { beforeEach, describe, expect, it } from '@jest/globals';
import { TooManyWrongTokensError } from './too-many-wrong-tokens.error.js';
import { WrongTokens } from './wrong-tokens.js';

const MINUTE = 60_000;

describe(WrongTokens.name, () => {
  let now: number;
  let wrongTokens: WrongTokens;

  beforeEach(() => {
    now = 5000;
    wrongTokens = new WrongTokens(3, { now: () => now });
  });

  /** What becomes of so many wrong tokens: the seconds to wait, or undefined where one is not too many. */
  function send(times: number, address = '192.0.2.1'): unknown[] {
    return Array.from({ length: times }, () => {
      try {
        wrongTokens.count(address);
        return undefined;
      } catch (error) {
        return error instanceof TooManyWrongTokensError ? error.headers['Retry-After'] : error;
      }
    });
  }

  it('should refuse more than the limit', () => {
    expect(send(5)).toEqual([undefined, undefined, undefined, '60', '60']);
  });

  it('should count each address for itself', () => {
    send(5);
    expect(send(4, '192.0.2.2')).toEqual([undefined, undefined, undefined, '60']);
  });

  it('should tell how long to wait, and count anew when that is over', () => {
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

  it('should not have a minute go on for who keeps trying', () => {
    for (let second = 0; second < 60; second++) {
      send(1);
      now += 1000;
    }
    now += 1;
    expect(send(1)).toEqual([undefined]);
  });

  it('should forget of many addresses the one that was silent longest', () => {
    send(4, 'first');
    send(4, 'second');
    for (let index = 0; index < 9998; index++) send(1, `other ${index}`);
    expect(send(1, 'first')).toEqual(['60']);
    for (let index = 0; index < 50_000; index++) send(1, `another ${index}`);

    expect(wrongTokens.size).toBe(10_000);
    expect(send(1, 'second')).toEqual([undefined]);
  });

  it('should say what is wrong and what would be right', () => {
    send(3);
    expect(() => {
      wrongTokens.count('192.0.2.1');
    }).toThrow(/not valid.+more than 3 .+ address.+Send a valid one.+60 s/);
  });
});
