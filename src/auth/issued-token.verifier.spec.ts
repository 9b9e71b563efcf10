import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ApiError } from '../errors/api-error.js';
import { IssuedTokenVerifier } from './issued-token.verifier.js';
import { makeToken, tokenKey } from './token-format.js';

const MAX_WAITING = 10_000;
const KNOWN = makeToken();
const realNow = performance.now.bind(performance);

type Pool = NonNullable<ConstructorParameters<typeof IssuedTokenVerifier>[1]>;

/** How many tokens each statement asks for. */
let asked: number[];
let answer: (() => void) | undefined;
let rows: object[];
let passed: number;
let warnings: jest.Spied<Logger['warn']>;
let verifier: IssuedTokenVerifier;

beforeEach(() => {
  asked = [];
  passed = 0;
  answer = undefined;
  jest.spyOn(Logger.prototype, 'log').mockReturnValue();
  warnings = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  rows = [{ id: '1', key: tokenKey(KNOWN), name: 'known', scopes: [], state: 'valid', remaining: null }];
  const pool = {
    schema: 'public',
    observeWait: () => undefined,
    execute: async (_sql: string, [digests]: [string[]]) => {
      pool.observeWait();
      asked.push(digests.length);
      await new Promise<void>((resolve) => (answer = resolve));
      return digests.includes(`\\x${tokenKey(KNOWN)}`) ? rows : [];
    },
  };
  verifier = new IssuedTokenVerifier({ url: 'postgresql://db/plants' }, pool as unknown as Pool);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Answers what is asked, until all is decided. */
async function decide<T>(verdicts: Promise<T>): Promise<T> {
  const answering = setInterval(() => answer?.(), 1);
  return verdicts.finally(() => {
    clearInterval(answering);
  });
}

function pass(milliseconds: number): void {
  passed += milliseconds;
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + passed);
}

describe(IssuedTokenVerifier.name, () => {
  it('should look up ten thousand together, refuse more, and hold up no token that is known', async () => {
    const known = verifier.verify(KNOWN);
    expect(await decide(Promise.resolve(known))).toEqual({ name: 'known', scopes: [] });
    // Two requests with one token are one look-up.
    const tokens = Array.from({ length: MAX_WAITING - 1 }, makeToken);
    const wrong = [...tokens, String(tokens[1])].map((token) => Promise.resolve(verifier.verify(token)));
    for (let i = 0; i < 2; i++)
      await expect(verifier.verify(makeToken())).rejects.toMatchObject({ error: 50301 } satisfies Partial<ApiError>);
    expect(verifier.verify(KNOWN)).toEqual({ name: 'known', scopes: [] });
    // Its answer is too old by now. It waits for one statement, together with the others.
    pass(2000);
    const again = Promise.resolve(verifier.verify(KNOWN));
    expect(await decide(again)).toEqual({ name: 'known', scopes: [] });
    expect(new Set(await decide(Promise.all(wrong)))).toEqual(new Set([undefined]));
    // The first of them goes again: its answer was too late.
    expect(asked).toEqual([1, 1, MAX_WAITING]);
  });

  it('should renew a token in use once a second, without a wait, and forget it as soon as it is revoked', async () => {
    const principal = await decide(Promise.resolve(verifier.verify(KNOWN)));
    for (let seconds = 1; seconds < 5; seconds++) {
      pass(1000);
      for (let i = 0; i < 3; i++) expect(verifier.verify(KNOWN)).toEqual(principal);
      expect(asked).toHaveLength(1 + seconds);
      answer?.();
      await new Promise(setImmediate);
      expect(verifier.verify(KNOWN)).toEqual(principal);
    }
    rows = [];
    pass(1000);
    expect(verifier.verify(KNOWN)).toEqual(principal);
    answer?.();
    await new Promise(setImmediate);
    expect(await decide(Promise.resolve(verifier.verify(KNOWN)))).toBeUndefined();
    expect(asked).toEqual(Array(7).fill(1));
  });

  it('should take no answer that came too late, though this process had no time for its timers', async () => {
    const verdict = Promise.resolve(verifier.verify(KNOWN));
    pass(2000);
    answer?.();
    expect(await decide(verdict)).toBeDefined();
    expect(asked).toEqual([1, 1]);
    expect(warnings.mock.calls).toEqual([[expect.stringContaining('the answer came too late')]]);
  });
});
