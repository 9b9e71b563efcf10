import { HttpException } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { OutgoingHttpHeaders } from 'node:http';
import { type ErrorNumber, statusOf } from './error-catalogue.js';

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
   * @param options response headers of this failure; the cause, for the log alone
   */
  constructor(
    /** The number of the failure in the error catalogue. */
    readonly error: ErrorNumber,
    message: string,
    { headers = {}, cause }: { headers?: OutgoingHttpHeaders; cause?: unknown } = {},
  ) {
    super({ error, message }, statusOf(error, 'semantic'), { cause });
    this.headers = headers;
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

/** RFC 6750, section 3: for a request without a credential. */
export const CHALLENGE = 'Bearer realm="plants"';

/** The request breaks HTTP itself or never ends, so where the next one begins is unknown. */
const CLOSE = { Connection: 'close' };
const RETRY_LATER = { 'Retry-After': '1' };
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
  const message = `The Idempotency-Key ${found}. It must be sent at most once and have 1 to 255 characters.`;
  return new ApiError(40004, message);
}

export function malformedRequest(message: string, cause?: Error): ApiError {
  return new ApiError(40010, message, { cause, headers: CLOSE });
}

export function missingCredential(): ApiError {
  const message = 'The request carries no bearer credential. Send the header "Authorization: Bearer <ACCESS_TOKEN>".';
  return new ApiError(40100, message, { headers: challenge() });
}

export function invalidToken(): ApiError {
  const message = 'The access token is not valid, has expired or was revoked. Send a valid one.';
  return new ApiError(40101, message, { headers: challenge('error="invalid_token"') });
}

export function mistypedToken(): ApiError {
  const message = 'The access token is not valid: it has a typing error. Send it as it was issued.';
  return new ApiError(40101, message, { headers: challenge('error="invalid_token"') });
}

export function malformedAuthorization(found: string): ApiError {
  const message = `${found}. It must be sent once, as "Authorization: Bearer <ACCESS_TOKEN>".`;
  return new ApiError(40102, message, { headers: challenge() });
}

/** @param required all scopes that the route requires; `lacking` are those of them that the token lacks */
export function insufficientScope(required: readonly string[], lacking = required): ApiError {
  const [scopes, them] = lacking.length > 1 ? ['scopes', 'them'] : ['scope', 'it'];
  const message = `The access token lacks the ${scopes} ${lacking.join(', ')}. Send one that has ${them}.`;
  const scope = `scope="${required.join(' ')}"`;
  return new ApiError(40300, message, { headers: challenge('error="insufficient_scope"', scope) });
}

/** RFC 6750, section 3.1: what is wrong with the token stands behind the realm. */
function challenge(...attributes: string[]): OutgoingHttpHeaders {
  return { 'WWW-Authenticate': [CHALLENGE, ...attributes].join(', ') };
}

export function unknownPath(): ApiError {
  const message =
    'There is nothing at this path. The one operation is POST /plants below the base URL, exactly so written.';
  return new ApiError(40400, message);
}

export function methodNotAllowed(headers: OutgoingHttpHeaders = {}): ApiError {
  const message = 'This method is not offered here. The only one that is: POST.';
  return new ApiError(40500, message, { headers: { Allow: 'POST', ...headers } });
}

/** @param milliseconds the time limit; without one, the service stops */
export function requestTimeout(milliseconds?: number): ApiError {
  const limit = milliseconds === undefined ? 'before the service stopped' : `within ${milliseconds} ms`;
  const message = `The request did not arrive ${limit}. Send it again, without pauses.`;
  return new ApiError(40800, message, { headers: CLOSE });
}

export function plantExists(id: bigint): ApiError {
  return new ApiError(40901, `The id ${id} is taken: a plant with this id exists already. Send another id.`);
}

/** @param fields the names of those that a repetition has to have in common */
export function idempotencyKeyReused(id: bigint, fields: readonly string[]): ApiError {
  const found = `The plant ${id} was created with this Idempotency-Key, but with another ${fields.join(' or ')}`;
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

export function unsupportedMedia(message: string): ApiError {
  return new ApiError(41500, message);
}

export function headersTooLarge(limit: number): ApiError {
  const message = `The request line and header fields are larger than ${limit} bytes together. Send fewer or shorter ones.`;
  return new ApiError(43100, message, { headers: CLOSE });
}

/** What it was stands in the log alone. */
export function unforeseenFailure(cause: unknown): ApiError {
  const message =
    'The service failed in a way it did not foresee. Its log has the details under the X-Request-Id of this answer.';
  return new ApiError(50000, message, { cause });
}

export function storageUnavailable(cause: unknown): ApiError {
  return new ApiError(50300, `The storage is unavailable. ${SEND_LATER}`, { cause, headers: RETRY_LATER });
}

/** The verifier of tokens cannot decide now: its database is away, for example. */
export function credentialUndecided(cause: unknown): ApiError {
  const message = `The service cannot decide now whether the access token is valid. ${SEND_LATER}`;
  return new ApiError(50300, message, { cause, headers: RETRY_LATER });
}

export function storageOverloaded(cause: unknown): ApiError {
  return new ApiError(50301, `The storage has more to do than it can. ${SEND_LATER}`, { cause, headers: RETRY_LATER });
}

/** The requests in flight hold so much memory that one more might take all of it. */
export function tooManyBodies(): ApiError {
  const message = `The service holds as many large bodies as it can. ${SEND_LATER}`;
  return new ApiError(50301, message, { headers: RETRY_LATER });
}

/** The application limits its clients, and has written nothing. It may have said how long to wait. */
export function clientLimited(cause: Error, hasRetryAfter: boolean): ApiError {
  return new ApiError(50301, cause.message, { cause, headers: hasRetryAfter ? {} : RETRY_LATER });
}

/** The database has not answered, or the application has given up waiting: the plant may be created all the same. */
export function storageTimeout(cause: unknown): ApiError {
  const message =
    'The storage did not answer in time, and whether the plant was created is unknown. ' +
    'A request that carried an Idempotency-Key can be repeated unchanged, and is then created exactly once.';
  return new ApiError(50400, message, { cause });
}
