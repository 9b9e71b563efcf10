import { RequestError } from './request.error.js';
import { retryAfter } from './retry-after.js';

/** Statuses of servers that may do better next time. */
const TRANSIENT = [408, 425, 429, 500, 502, 503, 504];
const EXCERPT_LENGTH = 200;

/** An answer that is not one of the store's, but of a proxy, of another service, or of a newer store. */
export class UnexpectedResponseError extends RequestError {
  override readonly name = 'UnexpectedResponseError';
  /** The HTTP status; 0 for a redirect in a browser. */
  readonly status: number;
  /** The id of the request, where the answer has one. */
  readonly requestId: string | undefined;

  /** @param body as text, or as the JSON value that it is */
  constructor(
    url: string,
    response: Response,
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
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
  const excerpt = text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text;
  return `${url} answered ${status} (${headers.get('Content-Type') ?? 'no Content-Type'}), ${excerpt || 'without a body'}`;
}
