import { describe, expect, it } from '@jest/globals';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { IncomingMessage } from 'node:http';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import type { Principal, TokenVerifier } from './token-verifier.js';

type Request = IncomingMessage & { user?: Principal };

const requestWith = (token: string): Request =>
  ({ headers: {}, rawHeaders: ['Authorization', `Bearer ${token}`], socket: {} }) as unknown as Request;

const enter = (verify: TokenVerifier['verify'], request: Request): true | Promise<true> =>
  new BearerAuthGuard({ verify }).canActivate(new ExecutionContextHost([request, {}], undefined, () => undefined));

describe(BearerAuthGuard.name, () => {
  it('should give each of several requests the verdict on its own token', async () => {
    const decide = new Map<string, (verdict: Principal | undefined) => void>();
    const verify = (token: string): Promise<Principal | undefined> =>
      new Promise((resolve) => decide.set(token, resolve));
    const requests = ['alice', 'mallory', 'bob'].map(requestWith);
    const entries = Promise.allSettled(requests.map(async (request) => enter(verify, request)));
    for (const name of ['bob', 'mallory', 'alice'])
      decide.get(name)?.(name === 'mallory' ? undefined : { name, scopes: [] });

    expect(await entries).toMatchObject([
      { status: 'fulfilled', value: true },
      { status: 'rejected', reason: { error: 40101 } },
      { status: 'fulfilled', value: true },
    ]);
    expect(requests.map(({ user }) => user?.name)).toEqual(['alice', undefined, 'bob']);
  });

  it.each([true, {}, { name: 'alice' }])('should let nobody in as %j', (verdict) => {
    expect(() => enter(() => verdict as never, requestWith('alice'))).toThrow(/has to return \{ name, scopes \}/);
  });
});
