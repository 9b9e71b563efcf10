import { ApiError } from '../errors/api-error.js';

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
