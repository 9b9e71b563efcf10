import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Principal } from '../../../src/auth/token-verifier.js';
import { IssuedTokenVerifier } from '../../../src/auth/tokens/issued-token-verifier.js';
import { makeToken } from '../../../src/auth/tokens/token.js';
import { FakeTokenStore } from './fake-token-store.js';

export type Verdict = Principal | Error | undefined;

/** Milliseconds that a request may wait. */
export const TIMEOUT_MS = 5000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** The principal of its token. */
export const GARDENER: Principal = { name: 'gardener', scopes: ['plants:create'] };

/** The result of a request, or `pending`. */
export interface Asked {
  verdict: Verdict | 'pending';
}

/** A verifier over a fake store with one token, on a clock that stands still until the test moves it. */
export class TimedVerifier implements AsyncDisposable {
  readonly store = new FakeTokenStore();
  readonly token = makeToken();
  readonly verifier: IssuedTokenVerifier;

  constructor({ timeout = TIMEOUT_MS } = {}) {
    jest.useFakeTimers();
    Logger.overrideLogger(false);
    this.store.add(this.token);
    this.verifier = new IssuedTokenVerifier({ url: 'postgresql://db/plants', timeout }, this.store);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wait(TIMEOUT_MS);
    jest.useRealTimers();
    Logger.overrideLogger(true);
  }

  wait(ms: number): Promise<void> {
    return jest.advanceTimersByTimeAsync(ms);
  }

  ask(token: string): Asked {
    const asked: Asked = { verdict: 'pending' };
    const settle = async (): Promise<void> => {
      try {
        asked.verdict = await this.verifier.verify(token);
      } catch (error) {
        asked.verdict = error as Error;
      }
    };
    void settle();
    return asked;
  }

  async verdict(token: string, ms = 50): Promise<Verdict | 'pending'> {
    const asked = this.ask(token);
    await this.wait(ms);
    return asked.verdict;
  }
}
