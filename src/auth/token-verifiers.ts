import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Principal } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

/** Several verifiers, asked in turn until one knows the token. */
export class TokenVerifiers extends TokenVerifier implements OnModuleInit, OnApplicationShutdown {
  constructor(private readonly verifiers: readonly (TokenVerifier & Partial<OnModuleInit & OnApplicationShutdown>)[]) {
    super();
  }

  verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined {
    return this.verifyFrom(0, token, request);
  }

  /** Not `async`: most often the answer is there at once, and a promise for it would take its time. */
  private verifyFrom(
    first: number,
    token: string,
    request: unknown,
  ): Promise<Principal | undefined> | Principal | undefined {
    for (let index = first; index < this.verifiers.length; index++) {
      const verdict = this.verifiers[index]?.verify(token, request);
      if (verdict instanceof Promise) {
        return verdict.then((principal) => principal ?? this.verifyFrom(index + 1, token, request));
      }
      if (verdict !== undefined) return verdict;
    }
    return undefined;
  }

  async onModuleInit(): Promise<void> {
    for (const verifier of this.verifiers) await verifier.onModuleInit?.();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(
      this.verifiers.map(async (verifier) => {
        await verifier.onApplicationShutdown?.();
      }),
    );
  }
}
