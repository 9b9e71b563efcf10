import { HttpException } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { OutgoingHttpHeaders } from 'node:http';
import { type ErrorNumber, isServiceFailure, statusOf } from './error-catalogue.js';

/** What an `ApiError` may have in addition to its number and message; `cause` is for the log alone. */
export interface ApiErrorOptions extends ErrorOptions {
  /** Response headers of this failure, such as `Allow` or `Retry-After`. @defaultValue none */
  headers?: OutgoingHttpHeaders;
  /** Whether `ApiExceptionFilter` logs it. @defaultValue true for numbers from 50000 on */
  isLogged?: boolean;
}

/**
 * A failure that is reported to the client: a number of the catalogue and a message for people. `ApiExceptionFilter` answers
 * with all of it, headers included. Any other filter sees an `HttpException` of Nest: `{error, message}`, with the status that the
 * number begins with.
 */
export class ApiError extends HttpException {
  /** Response headers of this failure. */
  readonly headers: OutgoingHttpHeaders;
  /** Whether `ApiExceptionFilter` logs it. */
  readonly isLogged: boolean;

  /**
   * @param message for people: what was wrong, where, and what would be right
   * @param options headers, whether it is logged, and the cause
   */
  constructor(
    /** The number of the failure in the error catalogue. */
    readonly error: ErrorNumber,
    message: string,
    { headers = {}, isLogged = isServiceFailure(error), cause }: ApiErrorOptions = {},
  ) {
    super({ error, message }, statusOf(error, 'semantic'), { cause });
    this.headers = headers;
    this.isLogged = isLogged;
  }
}

/** The header of a failure after which the request may be sent again soon. */
export const RETRY_LATER = { 'Retry-After': '1' };

/** The body of every failure, as a schema of OpenAPI. */
@ApiSchema({ name: 'Error' })
export class ErrorBody {
  /** The number in the error catalogue. */
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    description: 'Error number. Its first three digits are the status that plain HTTP would have used.',
  })
  error!: number;

  /** What was wrong, where, and what would be right: for people. */
  @ApiProperty({ description: 'Error message text: what was wrong, where, and what would be right' })
  message!: string;
}
