import { HttpException } from '@nestjs/common';
import type { OutgoingHttpHeaders } from 'node:http';
import { type ErrorNumber, statusOf } from './error-catalogue.js';

/** The challenge of RFC 6750, section 3.1. Its attributes follow the realm. */
function challenge(...attributes: string[]): OutgoingHttpHeaders {
  return { 'WWW-Authenticate': ['Bearer realm="plants"', ...attributes].join(', ') };
}

/** The headers that a number always has. */
const HEADERS: Partial<Record<ErrorNumber, OutgoingHttpHeaders>> = {
  40100: challenge(),
  40101: challenge('error="invalid_token"'),
  40102: challenge(),
  50300: { 'Retry-After': '1' },
  50301: { 'Retry-After': '1' },
};

const API_ERROR = Symbol.for('plant-store:api-error');

/**
 * A failure that the client sees: a number of the catalogue and a message for people. `ApiExceptionFilter` answers with
 * both and with the headers. For other filters it is an `HttpException` of Nest with the body `{error, message}`, and
 * its status is the first three digits of the number.
 */
export class ApiError extends HttpException {
  /** Another copy of this package may be in the process, as CommonJS. Its failures are such too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ApiError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && API_ERROR in value;
  }

  readonly [API_ERROR] = true;
  /** Response headers of this failure, such as `Retry-After`. */
  readonly headers: OutgoingHttpHeaders;

  /**
   * @param message for people: what was wrong, where, and what would be right
   * @param options more response headers, and the cause, which only the log shows
   */
  constructor(
    /** The number of the failure in the error catalogue. */
    readonly error: ErrorNumber,
    message: string,
    { headers = {}, cause }: { headers?: OutgoingHttpHeaders; cause?: unknown } = {},
  ) {
    super({ error, message }, statusOf(error, 'semantic'), { cause });
    this.headers = { ...HEADERS[error], ...headers };
  }
}

/** For a request that breaks HTTP or never ends: nobody knows where the next one begins. */
const CLOSE = { headers: { Connection: 'close' } };
const CREDENTIAL = '"Authorization: Bearer <ACCESS_TOKEN>"';
const SEND_LATER = 'Nothing was written; send the request again later.';

export const missingBody = (found: string): ApiError =>
  new ApiError(40001, `${found}. The body must be a JSON object such as {"id": 1, "name": "Rose"}.`);

export const unreadableBody = (message: string, cause?: Error): ApiError => new ApiError(40002, message, { cause });

/** @param faults a part of a sentence for each field that is missing or wrong */
export const invalidPlant = (faults: readonly string[]): ApiError =>
  new ApiError(40003, `This is not a plant: ${faults.join('. ')}.`);

export const invalidIdempotencyKey = (found: string): ApiError =>
  new ApiError(40004, `The Idempotency-Key ${found}. It must be sent once and have 1 to 255 characters.`);

export const malformedRequest = (message: string, cause?: Error): ApiError =>
  new ApiError(40010, message, { cause, ...CLOSE });

export const missingCredential = (found = 'The request carries no bearer credential'): ApiError =>
  new ApiError(40100, `${found}. Send the header ${CREDENTIAL}.`);

export const invalidToken = (): ApiError =>
  new ApiError(40101, 'The access token is not valid, has expired or was revoked. Send a valid one.');

export const malformedAuthorization = (found: string): ApiError =>
  new ApiError(40102, `${found}. It must be sent once, as ${CREDENTIAL}.`);

/** @param lacking the required scopes that the token does not have */
export const insufficientScope = (required: readonly string[], lacking: readonly string[]): ApiError =>
  new ApiError(40300, `The access token lacks the scope ${lacking.join(' ')}. Send one that has it.`, {
    headers: challenge('error="insufficient_scope"', `scope="${required.join(' ')}"`),
  });

export const methodNotAllowed = (headers: OutgoingHttpHeaders = {}): ApiError =>
  new ApiError(40500, 'This method is not offered here. The only one that is: POST.', {
    headers: { Allow: 'POST', ...headers },
  });

export const requestTimeout = (milliseconds: number): ApiError =>
  new ApiError(40800, `The request did not arrive within ${milliseconds} ms. Send it again, without pauses.`, CLOSE);

export const plantExists = (id: bigint): ApiError =>
  new ApiError(40901, `The id ${id} is taken: a plant with this id exists already. Send another id.`);

export const idempotencyKeyReused = (id: bigint): ApiError =>
  new ApiError(
    40902,
    `The plant ${id} was created with this Idempotency-Key, but with other fields. ` +
      'Repeat a request unchanged, or send another id.',
  );

export const bodyTooLarge = (limit: number): ApiError =>
  new ApiError(41300, `The body is larger than ${limit} bytes, the most that this service reads.`);

export const unsupportedMedia = (found: string): ApiError =>
  new ApiError(41500, `${found}. The body must be application/json in utf-8; send it uncompressed.`);

export const headersTooLarge = (limit: number): ApiError =>
  new ApiError(
    43100,
    `The request line and header fields have more than ${limit} bytes together. Send fewer or shorter ones.`,
    CLOSE,
  );

/** The cause is for the log alone: the client must not see it. */
export const unforeseenFailure = (cause: unknown): ApiError =>
  new ApiError(
    50000,
    'The service failed in a way it did not foresee. Its log says more under the X-Request-Id of this answer.',
    { cause },
  );

export const storageUnavailable = (cause: unknown): ApiError =>
  new ApiError(50300, `The storage is unavailable. ${SEND_LATER}`, { cause });

/**
 * @param cause undefined if the token comes too early: that is no failure of the service
 * @param seconds until it can decide, for example the pause before the keys of JWTs are fetched again
 */
export const credentialUndecided = (cause: unknown, seconds = 1): ApiError =>
  new ApiError(50300, `The service cannot decide now whether the access token is valid. ${SEND_LATER}`, {
    headers: { 'Retry-After': String(seconds) },
    cause,
  });

/** @param cause why: too many creates wait, for example, or the bodies take too much memory */
export const overloaded = (cause?: unknown): ApiError =>
  new ApiError(50301, `The service has more to do than it can. ${SEND_LATER}`, { cause });

/** The plant may be stored all the same. This is also the answer when a host stops waiting. */
export const storageTimeout = (cause: unknown): ApiError =>
  new ApiError(
    50400,
    'The storage did not answer in time, and whether the plant was created is unknown. ' +
      'A request that carried an Idempotency-Key can be repeated unchanged, and is then created exactly once.',
    { cause },
  );
