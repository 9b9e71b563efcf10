import { ApiError, RETRY_LATER } from '../errors/api-error.js';

const CLOSE = { Connection: 'close' };

/** The request breaks HTTP itself, so that its end is unknown: its connection is closed. */
export class MalformedRequestError extends ApiError {
  constructor(message: string, options?: ErrorOptions) {
    super(40010, message, { ...options, headers: CLOSE });
  }
}

export class RequestTimeoutError extends ApiError {
  /** @param milliseconds the time limit; without one, the service stops */
  constructor(milliseconds?: number) {
    const limit = milliseconds === undefined ? 'before the service stopped' : `within ${milliseconds} ms`;
    const message = `The request did not arrive ${limit}. Send it again, without pauses.`;
    super(40800, message, { headers: CLOSE });
  }
}

export class HeadersTooLargeError extends ApiError {
  constructor(limit: number) {
    const message = `The request line and header fields are larger than ${limit} bytes together. Send fewer or shorter ones.`;
    super(43100, message, { headers: CLOSE });
  }
}

export class ConnectNotOfferedError extends ApiError {
  constructor() {
    const message = 'CONNECT is not offered: this service is no proxy. Plants are created with POST at /plants.';
    super(40500, message, { headers: { Allow: 'POST', ...CLOSE } });
  }
}

export class MethodNotAllowedError extends ApiError {
  constructor() {
    super(40500, 'This method is not offered here. The only one that is: POST.', { headers: { Allow: 'POST' } });
  }
}

export class UnknownPathError extends ApiError {
  constructor() {
    const message =
      'There is nothing at this path. The one operation is POST /plants below the base URL, exactly so written.';
    super(40400, message);
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
    const message = `The body is larger than ${limit} bytes, the most that this service reads.`;
    super(41300, message);
  }
}

export class UnsupportedMediaError extends ApiError {
  constructor(message: string) {
    super(41500, message);
  }
}

/** The requests in flight hold so much memory that one more might take all of it. */
export class TooManyBodiesError extends ApiError {
  constructor() {
    const message =
      'The service holds as many large bodies as it can. Nothing was written; send the request again later.';
    super(50301, message, { headers: RETRY_LATER });
  }
}
