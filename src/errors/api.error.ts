import type { OutgoingHttpHeaders } from 'node:http';
import type { ErrorNumber } from './error-catalogue.js';

export interface ApiErrorOptions extends ErrorOptions {
  /** Response headers that belong to this failure, such as `Allow` or `Retry-After`. */
  headers?: OutgoingHttpHeaders;
}

/** A failure that the client is told about: a number of the catalogue and a message written for people. */
export class ApiError extends Error {
  readonly headers: OutgoingHttpHeaders;

  constructor(
    /** The number of the failure in the error catalogue. */
    readonly error: ErrorNumber,
    message: string,
    { headers = {}, ...options }: ApiErrorOptions = {},
  ) {
    super(message, options);
    this.name = new.target.name;
    this.headers = headers;
  }
}
