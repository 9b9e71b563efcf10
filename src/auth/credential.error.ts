import { ApiError, RETRY_LATER } from '../errors/api-error.js';

const CHALLENGE = 'Bearer realm="plants"';

/** What RFC 6750, section 3.1 has for a token that is wrong. */
export const INVALID_TOKEN_CHALLENGE = `${CHALLENGE}, error="invalid_token"`;

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

/** The token is valid, but not for this. */
export class InsufficientScopeError extends ApiError {
  constructor(scope: string) {
    super(40300, `The access token lacks the scope ${scope}. Send one that has it.`, {
      headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
    });
  }
}

/** What decides about tokens can't tell now: its store is away, for example. */
export class CredentialUndecidedError extends ApiError {
  constructor(cause: unknown, isLogged: boolean) {
    super(
      50300,
      'Whether the access token is valid cannot be told now. Nothing was written; send the request again later.',
      {
        cause,
        isLogged,
        headers: RETRY_LATER,
      },
    );
  }
}
