import type { PlatformRequest, PlatformResponse } from '../../http/platform.js';
import type { Principal } from '../principal.js';
import { clientNetwork } from './client-network.js';
import type { CredentialLimitsOptions } from '../auth.options.js';
import { MemoryRateCounter } from './memory-rate-counter.js';
import type { RateCounter } from './rate-counter.js';
import { RateLimit } from './rate-limit.js';
import { WrongTokens } from './wrong-tokens.js';

const WRONG_TOKEN_LIMIT = 100;

/** Counts wrong tokens by address, and requests by token. */
export class CredentialLimits {
  private readonly wrongTokens: WrongTokens | undefined;

  constructor(
    { wrongTokenLimit = WRONG_TOKEN_LIMIT }: CredentialLimitsOptions,
    private readonly rateLimit?: RateLimit,
  ) {
    this.wrongTokens = wrongTokenLimit > 0 ? new WrongTokens(wrongTokenLimit) : undefined;
  }

  /** @param counter of several processes together, where there are such */
  static async create(options: CredentialLimitsOptions, counter?: RateCounter): Promise<CredentialLimits> {
    const { rateLimit = 0 } = options;
    if (!(rateLimit > 0)) return new CredentialLimits(options);
    return new CredentialLimits(options, new RateLimit(rateLimit, counter ?? (await MemoryRateCounter.create())));
  }

  /** @throws TooManyWrongTokensError where its address has sent too many */
  countWrongToken(request: PlatformRequest): void {
    this.wrongTokens?.count(clientNetwork(request));
  }

  /** @throws RateLimitedError where too many were made with this token; nothing, not even a promise, where there is no limit */
  countRequest(principal: Principal, response: PlatformResponse): Promise<void> | undefined {
    return this.rateLimit?.count(principal, response);
  }
}
