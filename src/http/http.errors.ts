import { ApiError } from '../errors/api-error.js';

/** The request breaks HTTP itself, so that it can't be told where it ends: its connection is closed. */
export class MalformedRequestError extends ApiError {
  constructor(message: string, options?: ErrorOptions) {
    super(40010, message, { ...options, headers: { Connection: 'close' } });
  }
}

export class RequestTimeoutError extends ApiError {
  constructor(milliseconds: number) {
    super(40800, `The request did not arrive within ${milliseconds} ms. Send it again, without pauses.`, {
      headers: { Connection: 'close' },
    });
  }
}

export class HeadersTooLargeError extends ApiError {
  constructor(limit: number) {
    super(
      43100,
      `The request line and header fields are larger than ${limit} bytes together. Send fewer or shorter ones.`,
      {
        headers: { Connection: 'close' },
      },
    );
  }
}

export class ConnectNotOfferedError extends ApiError {
  constructor() {
    super(40500, 'CONNECT is not offered: this service is no proxy. Plants are created with POST at /plants.', {
      headers: { Allow: 'POST', Connection: 'close' },
    });
  }
}
