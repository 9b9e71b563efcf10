import { ApiError } from '../../errors/api-error.js';
import { INVALID_TOKEN_CHALLENGE } from '../credential.error.js';

/** The token is wrong, and not the first one from its address. */
export class TooManyWrongTokensError extends ApiError {
  constructor(limit: number, seconds: number) {
    super(
      42900,
      `The access token is not valid, and more than ${limit} such came from this address within a minute. ` +
        `Send a valid one, which is accepted at once; else wait for ${seconds} s.`,
      { headers: { 'Retry-After': String(seconds), 'WWW-Authenticate': INVALID_TOKEN_CHALLENGE } },
    );
  }
}
