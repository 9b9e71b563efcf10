import { RequestError } from './request.error.js';

/** No answer came, or not all of it, or not in time (`cause` says). Whether the plant was created is unknown. */
export class NetworkError extends RequestError {
  override readonly name = 'NetworkError';

  constructor(url: string, cause: unknown, idempotencyKey: string) {
    super(
      `No whole answer came from ${url}: ${reasonsOf(cause)}${HINT}. Whether the plant was created is unknown; ` +
        'sending it again with the same Idempotency-Key is safe.',
      { cause, retryable: true, idempotencyKey },
    );
  }
}

/** A browser does not tell a page why, but this is the usual reason. */
const HINT = 'location' in globalThis ? " (does the service's CORS_ORIGINS name this page's origin?)" : '';

/** Node says "fetch failed", and why only in the cause; where a name has several addresses, only in its code. */
function reasonsOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message, code, name = 'unknown', cause } = error as Partial<Error> & { code?: string };
  // An empty message is none.
  const reason = [message, code].find(Boolean) ?? name;
  return cause === undefined ? reason : `${reason}: ${reasonsOf(cause)}`;
}
