import { ApiError, RETRY_LATER } from '../errors/api-error.js';

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

export class MissingBodyError extends ApiError {
  constructor(found: string) {
    super(40001, `${found}. The body must be a JSON object such as {"id": 1, "name": "Rose"}.`);
  }
}

export class UnreadableBodyError extends ApiError {
  constructor(message: string, options?: ErrorOptions) {
    super(40002, message, options);
  }
}

export class BodyTooLargeError extends ApiError {
  constructor(limit: number) {
    super(
      41300,
      `The body is larger than ${limit} bytes, the most that this service reads (counted after decompression).`,
    );
  }
}

export class UnsupportedMediaError extends ApiError {
  constructor(message: string) {
    super(41500, message);
  }
}

/** The requests under way hold so much that one more might take all of the memory. */
export class TooManyBodiesError extends ApiError {
  constructor() {
    const message =
      'The service holds as many large bodies as it can. Nothing was written; send the request again later.';
    super(50301, message, { headers: RETRY_LATER });
  }
}

export class UnknownPathError extends ApiError {
  constructor() {
    super(
      40400,
      'There is nothing at this path. The one operation is POST /plants below the base URL, exactly so written.',
    );
  }
}

export class MethodNotAllowedError extends ApiError {
  /** @param allowed the one method that is offered */
  constructor(allowed: string) {
    super(40500, `This method is not offered here. The only one that is: ${allowed}.`, { headers: { Allow: allowed } });
  }
}
