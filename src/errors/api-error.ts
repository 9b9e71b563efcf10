import { HttpException } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { OutgoingHttpHeaders } from 'node:http';
import { type ErrorNumber, statusOf } from './error-catalogue.js';

/** RFC 6750, section 3.1: what is wrong with a credential stands behind the realm. */
function challenge(...attributes: string[]): OutgoingHttpHeaders {
  return { 'WWW-Authenticate': ['Bearer realm="plants"', ...attributes].join(', ') };
}

/** Header fields of every failure with a number. */
const HEADERS: Partial<Record<ErrorNumber, OutgoingHttpHeaders>> = {
  40100: challenge(),
  40101: challenge('error="invalid_token"'),
  40102: challenge(),
  50300: { 'Retry-After': '1' },
  50301: { 'Retry-After': '1' },
};

/**
 * A failure that is reported to the client: a number of the catalogue and a message for people. `ApiExceptionFilter` answers
 * with all of it, headers included. Any other filter sees an `HttpException` of Nest: `{error, message}`, with the status that the
 * number begins with.
 */
export class ApiError extends HttpException {
  /** Response headers of this failure, such as `Retry-After`. */
  readonly headers: OutgoingHttpHeaders;

  /**
   * @param message for people: what was wrong, where, and what would be right
   * @param options response headers, besides those of the number; the cause, for the log alone
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

/** The body of every failure, as a schema of OpenAPI. */
@ApiSchema({ name: 'Error' })
export class ErrorBody {
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    description: 'Error number. Its first three digits are the status that plain HTTP would have used.',
  })
  error!: number;
  @ApiProperty({ description: 'Error message text: what was wrong, where, and what would be right' })
  message!: string;
}

/** The request breaks HTTP itself or never ends, so where the next one begins is unknown. */
const CLOSE = { Connection: 'close' };
const SEND_LATER = 'Nothing was written; send the request again later.';

// One for each failure, in the order of the catalogue.

export function missingBody(found: string): ApiError {
  return new ApiError(40001, `${found}. The body must be a JSON object such as {"id": 1, "name": "Rose"}.`);
}

export function unreadableBody(message: string, cause?: Error): ApiError {
  return new ApiError(40002, message, { cause });
}

/** @param faults one sentence part for each field that is missing or wrong */
export function invalidPlant(faults: readonly string[]): ApiError {
  return new ApiError(40003, `This is not a plant: ${faults.join('. ')}.`);
}

export function invalidIdempotencyKey(found: string): ApiError {
  return new ApiError(40004, `The Idempotency-Key ${found}. It must be sent once and have 1 to 255 characters.`);
}

export function malformedRequest(message: string, cause?: Error): ApiError {
  return new ApiError(40010, message, { cause, headers: CLOSE });
}

export function missingCredential(): ApiError {
  return new ApiError(
    40100,
    'The request carries no bearer credential. Send the header "Authorization: Bearer <ACCESS_TOKEN>".',
  );
}

export function invalidToken(): ApiError {
  return new ApiError(40101, 'The access token is not valid, has expired or was revoked. Send a valid one.');
}

export function mistypedToken(): ApiError {
  return new ApiError(40101, 'The access token is not valid: it has a typing error. Send it as it was issued.');
}

export function malformedAuthorization(found: string): ApiError {
  return new ApiError(40102, `${found}. It must be sent once, as "Authorization: Bearer <ACCESS_TOKEN>".`);
}

/** @param required all scopes that the route requires; `lacking` are those of them that the token lacks */
export function insufficientScope(required: readonly string[], lacking = required): ApiError {
  const message = `The access token lacks the scope ${lacking.join(' ')}. Send one that has it.`;
  const headers = challenge('error="insufficient_scope"', `scope="${required.join(' ')}"`);
  return new ApiError(40300, message, { headers });
}

export function unknownPath(): ApiError {
  return new ApiError(
    40400,
    'There is nothing at this path. Send POST /plants below the base URL, exactly so written.',
  );
}

export function methodNotAllowed(headers: OutgoingHttpHeaders = {}): ApiError {
  return new ApiError(40500, 'This method is not offered here. The only one that is: POST.', {
    headers: { Allow: 'POST', ...headers },
  });
}

/** @param milliseconds the time limit; without one, the service stops */
export function requestTimeout(milliseconds?: number): ApiError {
  const limit = milliseconds === undefined ? 'before the service stopped' : `within ${milliseconds} ms`;
  return new ApiError(40800, `The request did not arrive ${limit}. Send it again, without pauses.`, { headers: CLOSE });
}

export function plantExists(id: bigint): ApiError {
  return new ApiError(40901, `The id ${id} is taken: a plant with this id exists already. Send another id.`);
}

export function idempotencyKeyReused(id: bigint): ApiError {
  const found = `The plant ${id} was created with this Idempotency-Key, but with another name or tag`;
  return new ApiError(40902, `${found}. Repeat a request unchanged, or send another id.`);
}

export function bodyTooLarge(limit: number): ApiError {
  return new ApiError(41300, `The body is larger than ${limit} bytes, the most that this service reads.`);
}

/** A body in tiny chunks takes far longer to read than to send. */
export function tooManyChunks(limit: number): ApiError {
  const message = `The body comes in more than ${limit} chunks. Send it in fewer, larger ones.`;
  return new ApiError(41300, message, { headers: CLOSE });
}

export function unsupportedMedia(found: string): ApiError {
  return new ApiError(41500, `${found}. The body must be application/json in utf-8; send it uncompressed.`);
}

export function headersTooLarge(limit: number): ApiError {
  const message = `The request line and header fields have more than ${limit} bytes together. Send fewer or shorter ones.`;
  return new ApiError(43100, message, { headers: CLOSE });
}

/** What it was stands in the log alone. */
export function unforeseenFailure(cause: unknown): ApiError {
  const message =
    'The service failed in a way it did not foresee. Its log says more under the X-Request-Id of this answer.';
  return new ApiError(50000, message, { cause });
}

export function storageUnavailable(cause: unknown): ApiError {
  return new ApiError(50300, `The storage is unavailable. ${SEND_LATER}`, { cause });
}

/** The verifier of tokens cannot decide now: its database is away, for example. */
export function credentialUndecided(cause: unknown): ApiError {
  return new ApiError(50300, `The service cannot decide now whether the access token is valid. ${SEND_LATER}`, {
    cause,
  });
}

/** @param cause too many creates wait, or the bodies in flight take too much memory */
export function overloaded(cause?: unknown): ApiError {
  return new ApiError(50301, `The service has more to do than it can. ${SEND_LATER}`, { cause });
}

/** The database has not answered, or the application has given up waiting: the plant may be created all the same. */
export function storageTimeout(cause: unknown): ApiError {
  const message =
    'The storage did not answer in time, and whether the plant was created is unknown. ' +
    'A request that carried an Idempotency-Key can be repeated unchanged, and is then created exactly once.';
  return new ApiError(50400, message, { cause });
}
