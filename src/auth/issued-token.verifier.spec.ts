import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ApiError } from '../errors/api-error.js';
import { IssuedTokenVerifier } from './issued-token.verifier.js';
import { makeToken, tokenKey } from './token-format.js';

const MAX_WAITING = 10_000;
const KNOWN = makeToken();

type Pool = NonNullable<ConstructorParameters<typeof IssuedTokenVerifier>[1]>;

/** How many tokens each statement asks for. */
let asked: number[];
let answer: (() => void) | undefined;
let warnings: jest.Spied<Logger['warn']>;
let verifier: IssuedTokenVerifier;

beforeEach(() => {
  asked = [];
  answer = undefined;
  jest.spyOn(Logger.prototype, 'log').mockReturnValue();
  warnings = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const row = { id: '1', key: tokenKey(KNOWN), name: 'known', scopes: [], state: 'valid', remaining: null };
  const pool = {
    schema: 'public',
    observeWait: () => undefined,
    execute: async (_sql: string, [digests]: [string[]]) => {
      pool.observeWait();
      asked.push(digests.length);
      await new Promise<void>((resolve) => (answer = resolve));
      return digests.includes(`\\x${row.key}`) ? [row] : [];
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

function passTwoSeconds(): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 2000);
}

describe(IssuedTokenVerifier.name, () => {
  it('should look up ten thousand together, refuse more, and hold up no token that is known', async () => {
    const known = verifier.verify(KNOWN);
    expect(await decide(Promise.resolve(known))).toEqual({ name: 'known', scopes: [] });
    const wrong = Array.from({ length: MAX_WAITING }, () => Promise.resolve(verifier.verify(makeToken())));
    for (let i = 0; i < 2; i++)
      await expect(verifier.verify(makeToken())).rejects.toMatchObject({ error: 50301 } satisfies Partial<ApiError>);
    expect(verifier.verify(KNOWN)).toEqual({ name: 'known', scopes: [] });
    // Its answer is too old by now. It waits for one statement, together with the others.
    passTwoSeconds();
    const again = Promise.resolve(verifier.verify(KNOWN));
    expect(await decide(again)).toEqual({ name: 'known', scopes: [] });
    expect(new Set(await decide(Promise.all(wrong)))).toEqual(new Set([undefined]));
    // The first of them goes again: its answer was too late.
    expect(asked).toEqual([1, 1, MAX_WAITING + 1]);
  });

  it('should take no answer that came too late, though this process had no time for its timers', async () => {
    const verdict = Promise.resolve(verifier.verify(KNOWN));
    passTwoSeconds();
    answer?.();
    expect(await decide(verdict)).toBeDefined();
    expect(asked).toEqual([1, 1]);
    expect(warnings.mock.calls).toEqual([[expect.stringContaining('the answer came too late')]]);
  });
});
