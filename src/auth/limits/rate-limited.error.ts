import { ApiError } from '../../errors/api-error.js';

/** The token is valid, but was used too often. */
export class RateLimitedError extends ApiError {
  constructor(limit: number, seconds: number) {
    super(
      42900,
      `More than ${limit} requests were made with this access token within a minute. ` +
        `Nothing was written; send this one again in ${seconds} s.`,
      { headers: { 'Retry-After': String(seconds) } },
    );
  }
}
