import { describe, expect, it } from '@jest/globals';
import { type Principal, TokenVerifier, TokenVerifiers } from './token-verifier.js';

const ALICE: Principal = { name: 'alice', scopes: [] };

/** Knows these tokens, and notes what it was asked. */
class KnownVerifier extends TokenVerifier {
  readonly asked: string[] = [];

  constructor(private readonly verdicts: Record<string, Principal | Promise<Principal | undefined>>) {
    super();
  }

  verify(token: string): Principal | Promise<Principal | undefined> | undefined {
    this.asked.push(token);
    return this.verdicts[token];
  }
}

describe(TokenVerifiers.name, () => {
  it('should ask each in turn, until one knows the token, and answer at once if they do', () => {
    const [first, second, third] = [new KnownVerifier({}), new KnownVerifier({ a: ALICE }), new KnownVerifier({})];
    const verifiers = new TokenVerifiers([first, second, third]);

    expect(verifiers.verify('a')).toBe(ALICE);
    expect(verifiers.verify('b')).toBeUndefined();
    expect([first.asked, second.asked, third.asked]).toEqual([['a', 'b'], ['a', 'b'], ['b']]);
  });

  it('should ask the next one after one that takes its time and does not know the token', async () => {
    const slow = new KnownVerifier({ a: Promise.resolve(undefined), b: Promise.resolve(undefined) });
    const verifiers = new TokenVerifiers([slow, new KnownVerifier({ a: Promise.resolve(ALICE) })]);

    await expect(verifiers.verify('a')).resolves.toBe(ALICE);
    await expect(verifiers.verify('b')).resolves.toBeUndefined();
  });

  it('should not take for unknown what one of them cannot decide', async () => {
    const undecided = new KnownVerifier({ a: Promise.reject(new Error('the database is away')) });
    const verifiers = new TokenVerifiers([undecided, new KnownVerifier({})]);

    await expect(verifiers.verify('a')).rejects.toThrow('the database is away');
  });
});
