import { ApiError, RETRY_LATER } from '../errors/api-error.js';

/** RFC 6750, section 3: for a request without a credential. */
export const CHALLENGE = 'Bearer realm="plants"';

/** RFC 6750, section 3.1: for a token that is wrong. */
const INVALID_TOKEN_CHALLENGE = `${CHALLENGE}, error="invalid_token"`;

export class MissingCredentialError extends ApiError {
  constructor() {
    super(40100, 'The request carries no bearer credential. Send the header "Authorization: Bearer <ACCESS_TOKEN>".', {
      headers: { 'WWW-Authenticate': CHALLENGE },
    });
  }
}

export class InvalidTokenError extends ApiError {
  constructor() {
    super(40101, 'The access token is not valid, has expired or was revoked. Send a valid one.', {
      headers: { 'WWW-Authenticate': INVALID_TOKEN_CHALLENGE },
    });
  }
}

export class MalformedAuthorizationError extends ApiError {
  constructor(message: string) {
    super(40102, `${message}. It must be sent once, as "Authorization: Bearer <ACCESS_TOKEN>".`, {
      headers: { 'WWW-Authenticate': CHALLENGE },
    });
  }
}

/** The token is valid, but lacks the scope. */
export class InsufficientScopeError extends ApiError {
  /** @param required all scopes that the route requires; `lacking` are those of them that the token lacks */
  constructor(required: readonly string[], lacking = required) {
    const what = `the scope${lacking.length > 1 ? 's' : ''} ${lacking.join(', ')}`;
    const scope = required.join(' ');
    super(40300, `The access token lacks ${what}. Send one that has ${lacking.length > 1 ? 'them' : 'it'}.`, {
      headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
    });
  }
}

/** The verifier cannot decide now: its database is away, for example. */
export class CredentialUndecidedError extends ApiError {
  constructor(cause: unknown) {
    const message =
      'The service cannot decide now whether the access token is valid. Nothing was written; send the request again later.';
    super(50300, message, { cause, headers: RETRY_LATER });
  }
}
