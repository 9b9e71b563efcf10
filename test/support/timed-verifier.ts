import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { IssuedTokenVerifier } from '../../src/auth/issued/issued-token-verifier.js';
import { makeToken } from '../../src/auth/issued/token-form.js';
import type { Principal } from '../../src/auth/token-verifier.js';
import { FakeTokenStore } from './fake-token-store.js';

export type Verdict = Principal | Error | undefined;

/** Milliseconds that a request may wait. */
export const TIMEOUT_MS = 5000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** Whom its token stands for. */
export const GARDENER: Principal = { name: 'gardener', scopes: ['plants:create'], limitKey: 'issued:gardener' };

/** What comes of a request, or `pending`. */
export interface Asked {
  verdict: Verdict | 'pending';
}

/** A verifier over a fake store with one token, on a clock that stands still until the test moves it. */
export class TimedVerifier implements AsyncDisposable {
  readonly store = new FakeTokenStore();
  readonly token = makeToken();
  readonly verifier: IssuedTokenVerifier;

  constructor() {
    jest.useFakeTimers();
    Logger.overrideLogger(false);
    this.store.add(this.token);
    this.verifier = new IssuedTokenVerifier({ url: 'postgresql://db/plants', timeout: TIMEOUT_MS }, this.store);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wait(TIMEOUT_MS);
    jest.useRealTimers();
    Logger.overrideLogger(true);
  }

  wait(ms: number): Promise<void> {
    return jest.advanceTimersByTimeAsync(ms);
  }

  /** @param ip the address that asks */
  ask(token: string, ip?: string): Asked {
    const asked: Asked = { verdict: 'pending' };
    const settle = async (): Promise<void> => {
      try {
        asked.verdict = await this.verifier.verify(token, ip === undefined ? undefined : { ip });
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
