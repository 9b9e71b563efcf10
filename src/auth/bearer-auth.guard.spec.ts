import { describe, expect, it } from '@jest/globals';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { IncomingMessage } from 'node:http';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import { type Principal, TokenVerifier } from './token-verifier.js';

/** Decides about a token when the test says so. */
class PatientVerifier extends TokenVerifier {
  private readonly verdicts = new Map<string, (verdict: Principal | undefined) => void>();

  verify(token: string): Promise<Principal | undefined> {
    return new Promise((resolve) => this.verdicts.set(token, resolve));
  }

  decide(token: string, verdict?: Principal): void {
    this.verdicts.get(token)?.(verdict);
  }
}

type Request = IncomingMessage & { user?: Principal };

describe(BearerAuthGuard.name, () => {
  const ALICE: Principal = { name: 'alice', scopes: [] };
  const BOB: Principal = { name: 'bob', scopes: [] };

  const requestWith = (token: string): Request =>
    ({ headers: {}, rawHeaders: ['Authorization', `Bearer ${token}`], socket: {} }) as unknown as Request;

  it.each([
    ['the first one first', ['alice', 'mallory', 'bob']],
    ['the last one first', ['bob', 'mallory', 'alice']],
  ])('should give each of several requests the verdict on its own token, decided %s', async (_order, tokens) => {
    const verifier = new PatientVerifier();
    const guard = new BearerAuthGuard(verifier);
    const enter = async (request: Request): Promise<unknown> =>
      guard.canActivate(new ExecutionContextHost([request, {}], undefined, () => undefined));
    const [alice, mallory, bob] = [requestWith('alice'), requestWith('mallory'), requestWith('bob')];
    const entries = Promise.allSettled([alice, mallory, bob].map(enter));
    // The guard asks the verifier some promises later.
    await new Promise(setImmediate);

    for (const token of tokens) verifier.decide(token, { alice: ALICE, bob: BOB }[token]);

    expect(await entries).toMatchObject([
      { status: 'fulfilled', value: true },
      { status: 'rejected', reason: { error: 40101 } },
      { status: 'fulfilled', value: true },
    ]);
    expect([alice.user, mallory.user, bob.user]).toEqual([ALICE, undefined, BOB]);
  });

  it.each([true, {}, { name: 'alice' }, { scopes: [] }])('should let nobody in as %j', (verdict) => {
    const verifier = { verify: () => verdict } as unknown as TokenVerifier;
    const guard = new BearerAuthGuard(verifier);
    const context = new ExecutionContextHost([requestWith('alice'), {}], undefined, () => undefined);
    expect(() => guard.canActivate(context)).toThrow(/has to return \{ name, scopes \}/);
  });
});
