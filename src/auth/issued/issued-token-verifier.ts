import type { OnApplicationShutdown } from '@nestjs/common';
import type { Principal } from '../principal.js';
import { TokenVerifier } from '../token-verifier.js';
import type { IssuedTokensOptions } from './issued-tokens-options.js';

/** Accepts the tokens that were issued and are neither expired nor revoked. */
export class IssuedTokenVerifier extends TokenVerifier implements OnApplicationShutdown {
  constructor(protected readonly options: IssuedTokensOptions) {
    super();
  }

  verify(_token: string): Promise<Principal | undefined> | Principal | undefined {
    return undefined;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.resolve();
  }
}
