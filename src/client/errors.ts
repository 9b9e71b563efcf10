import { ERROR_CATALOGUE, type ErrorNumber } from '../errors/error-catalogue.js';
import type { components } from './generated/openapi.js';

/** Statuses of servers that may do better next time. */
const TRANSIENT = [408, 425, 429, 500, 502, 503, 504];
const MAX_EXCERPT_LENGTH = 200;
/** A browser does not tell the page the reason; this is the usual one. */
const HINT = 'location' in globalThis ? " (does the service's CORS_ORIGINS name this page's origin?)" : '';
const UNKNOWN = 'Whether the plant was created is unknown; sending it again with the same Idempotency-Key is safe.';

/** What is known of a failed create in addition to its message. */
interface RequestErrorDetails extends ErrorOptions {
  retryable: boolean;
  retryAfter?: number | undefined;
  idempotencyKey: string;
}

/**
 * A create that failed, as its last attempt did, or that was aborted; the base of the four others. An earlier attempt, whose answer was lost,
 * may have created the plant: only a repetition with the same `idempotencyKey` shows it.
 */
export abstract class RequestError extends Error {
  /** Whether it is worth sending the same plant again with the same `idempotencyKey`. It is never created twice. */
  readonly retryable: boolean;
  /** Seconds to wait before, if the answer says so. */
  readonly retryAfter: number | undefined;
  /** The key that all attempts carried. */
  readonly idempotencyKey: string;

  constructor(message: string, { retryable, retryAfter, idempotencyKey, ...options }: RequestErrorDetails) {
    super(message, options);
    this.retryable = retryable;
    this.retryAfter = retryAfter;
    this.idempotencyKey = idempotencyKey;
  }
}

/** The body of a failure, with a number that this version knows. */
export type KnownErrorBody = components['schemas']['Error'] & { error: ErrorNumber };

/** The store refused the request: a number of its catalogue, and its message. */
export class PlantStoreError extends RequestError {
  override readonly name = 'PlantStoreError';
  /** The number in the error catalogue, `ERROR_CATALOGUE`. */
  readonly error: ErrorNumber;
  /** The HTTP status: 400, or the first three digits of `error` if the service runs with `ERROR_STATUS=semantic`. */
  readonly status: number;
  /** The id of the request in the service's log, which has the numbers from 50000 on. */
  readonly requestId: string | undefined;

  constructor({ error, message }: KnownErrorBody, { status, headers }: Response, idempotencyKey: string) {
    super(message, { retryable: isRetryable(error), retryAfter: retryAfter(headers), idempotencyKey });
    this.error = error;
    this.status = status;
    this.requestId = headers.get('X-Request-Id') ?? undefined;
  }
}

/**
 * After an `unknown` outcome too: every attempt carries the same `Idempotency-Key`, so a repetition does no harm and is
 * the only way to learn whether the plant was created. A credential that is refused stays refused.
 */
function isRetryable(error: ErrorNumber): boolean {
  const { retry } = ERROR_CATALOGUE[error];
  return retry !== 'no' && retry !== 'with a good token';
}

/** No answer came, or not all of it, or not in time: `cause` says which. It is unknown whether the plant was created. */
export class NetworkError extends RequestError {
  override readonly name = 'NetworkError';

  constructor(url: string, cause: unknown, idempotencyKey: string) {
    const message = `No whole answer came from ${url}: ${reasonsOf(cause)}${HINT}. ${UNKNOWN}`;
    super(message, { cause, retryable: true, idempotencyKey });
  }
}

/**
 * Your `signal` ended the create; `cause` is its reason, such as the `TimeoutError` of `AbortSignal.timeout()`. The message says whether anything
 * was sent. If so, the plant may have been created: repeat the create with this failure, which has the key.
 */
export class AbortError extends RequestError {
  override readonly name = 'AbortError';

  constructor(cause: unknown, wasSent: boolean, idempotencyKey: string) {
    const message = `The create was aborted: ${reasonsOf(cause)}. ${wasSent ? UNKNOWN : 'Nothing was sent.'}`;
    super(message, { cause, retryable: true, idempotencyKey });
  }
}

/** Node says "fetch failed", and why only in the cause; if a name has several addresses, only in its code. */
function reasonsOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message, code, name = 'unknown', cause } = error as Partial<Error> & { code?: string };
  // An empty message counts as missing.
  const reason = [message, code].find(Boolean) ?? name;
  return cause === undefined ? reason : `${reason}: ${reasonsOf(cause)}`;
}

/** Something else than the store answered: a proxy, another service, or a newer store. */
export class UnexpectedResponseError extends RequestError {
  override readonly name = 'UnexpectedResponseError';
  /** The HTTP status; 0 for a redirect in a browser. */
  readonly status: number;
  /** The id of the request, if the answer has one. */
  readonly requestId: string | undefined;

  constructor(
    url: string,
    response: Response,
    /** The body: the value if it is JSON, or else the text. */
    readonly body: unknown,
    idempotencyKey: string,
  ) {
    super(`This is not how a plant store answers, as far as this client knows: ${describe(url, response, body)}`, {
      retryable: TRANSIENT.includes(errorStatusOf(body) ?? response.status),
      retryAfter: retryAfter(response.headers),
      idempotencyKey,
    });
    this.status = response.status;
    this.requestId = response.headers.get('X-Request-Id') ?? undefined;
  }
}

/** The status that plain HTTP would have used for an error number which this version does not know. */
function errorStatusOf(body: unknown): number | undefined {
  const { error } = (body ?? {}) as { error?: unknown };
  return typeof error === 'number' && error >= 10_000 ? Math.trunc(error / 100) : undefined;
}

function describe(url: string, { status, type, headers }: Response, body: unknown): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const target = headers.get('Location') ?? 'somewhere else';
    return `${url} redirects to ${target}. Redirects are not followed; set baseUrl to where the store is.`;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const excerpt = text.length > MAX_EXCERPT_LENGTH ? `${text.slice(0, MAX_EXCERPT_LENGTH)}…` : text;
  return `${url} answered ${status} (${headers.get('Content-Type') ?? 'no Content-Type'}), ${excerpt || 'without a body'}`;
}

/** The wait that an answer asks for in `Retry-After`, a number or a date (RFC 9110, section 10.2.3), in seconds. */
export function retryAfter(headers: Headers): number | undefined {
  const value = headers.get('Retry-After') ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  const date = value.endsWith('GMT') ? Date.parse(value) : NaN;
  if (Number.isNaN(date)) return undefined;
  // By the sender's clock, if the answer has it: ours may be wrong.
  const sent = Date.parse(headers.get('Date') ?? '');
  return Math.max(0, (date - (Number.isNaN(sent) ? Date.now() : sent)) / 1000);
}
