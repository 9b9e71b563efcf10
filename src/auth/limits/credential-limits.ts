import type { PlatformRequest, PlatformResponse } from '../../http/platform.js';
import type { Principal } from '../principal.js';
import type { CredentialLimitsOptions } from './credential-limits-options.js';

/** Counts wrong tokens by address, and requests by token. */
export class CredentialLimits {
  constructor(protected readonly options: CredentialLimitsOptions) {}

  /** @throws TooManyWrongTokensError where its address has sent too many */
  countWrongToken(_request: PlatformRequest): void {
    return;
  }

  /** @throws RateLimitedError where too many were made with this token; nothing, not even a promise, where there is no limit */
  countRequest(_principal: Principal, _response: PlatformResponse): Promise<void> | undefined {
    return undefined;
  }
}
