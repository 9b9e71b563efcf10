/**
 * - `duplicate`: there is a valid token of that name
 * - `unknown`: there is no token of that name or id
 * - `ended`: there is one, but it has expired or was revoked
 * - `past`: the token would have expired already
 * - `unconfirmed`: the database may have made the change, and did not say so
 */
export type TokenAdministrationErrorCode = 'duplicate' | 'unknown' | 'ended' | 'past' | 'unconfirmed';

/** What was to be done with access tokens can't be done. The message says why, and what can. */
export class TokenAdministrationError extends Error {
  override readonly name = 'TokenAdministrationError';

  constructor(
    readonly code: TokenAdministrationErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
