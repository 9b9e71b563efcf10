/**
 * Every error number of the store; the messages are in `api-error.ts`. Its first three digits are the status that plain
 * HTTP would have used. `meaning` says what happened. `retry` says whether the client may send the same request again.
 */
export const ERROR_CATALOGUE = {
  40001: { meaning: 'body missing, empty, or not a JSON object', retry: 'no' },
  40002: { meaning: 'not JSON: syntax, duplicate key, invalid UTF-8', retry: 'no' },
  40003: {
    meaning: 'a field is missing or wrong; the message names every such field and what it must be',
    retry: 'no',
  },
  40004: { meaning: '`Idempotency-Key` empty, too long or repeated', retry: 'no' },
  40010: { meaning: 'malformed HTTP request', retry: 'no' },
  40100: { meaning: 'no credential', retry: 'with a good token' },
  40101: { meaning: 'credential not valid, expired or revoked', retry: 'with a good token' },
  40102: { meaning: 'malformed `Authorization` header', retry: 'with a good token' },
  40300: { meaning: 'the token lacks the scope', retry: 'no' },
  40400: { meaning: 'no such path', retry: 'no' },
  40500: { meaning: 'method not offered here', retry: 'no' },
  40800: { meaning: 'the request did not arrive in time', retry: 'yes' },
  40901: { meaning: 'id taken', retry: 'no' },
  40902: { meaning: 'this plant was created with this idempotency key and other fields', retry: 'no' },
  41300: { meaning: 'body too large', retry: 'no' },
  41500: { meaning: 'media type, charset or encoding not supported', retry: 'no' },
  43100: { meaning: 'request line and header fields too large', retry: 'no' },
  50000: { meaning: 'internal error; details only in the log, under the request id', retry: 'unknown' },
  50300: { meaning: 'storage or issuer of JWTs unavailable; nothing was written', retry: 'later' },
  50301: { meaning: 'overloaded, or a rate limit was reached; nothing was written', retry: 'later' },
  50400: {
    meaning: 'storage did not answer in time; the outcome is unknown',
    retry: 'with the same `Idempotency-Key`',
  },
} as const;

export type ErrorNumber = keyof typeof ERROR_CATALOGUE;

export const ERROR_NUMBERS = Object.keys(ERROR_CATALOGUE).map((number) => Number(number) as ErrorNumber);

/** With `contract` every failure has the status 400. With `semantic` it has the first three digits of its number. */
export type ErrorStatus = 'contract' | 'semantic';

export function statusOf(error: ErrorNumber, errorStatus: ErrorStatus): number {
  return errorStatus === 'contract' ? 400 : Math.trunc(error / 100);
}

/** Whether the service or its database failed, and not the request. */
export function isServiceFailure(error: number): boolean {
  return error >= 50000;
}
