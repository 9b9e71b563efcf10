/**
 * Every error number that the store answers with. The first three digits are the status that plain HTTP would have used.
 * `meaning` says what happened, `retry` whether the same request may be sent again unchanged, `client` what the client does.
 */
export const ERROR_CATALOGUE = {
  40001: { meaning: 'body missing, empty, or not a JSON object', retry: 'no', client: 'sends a JSON object' },
  40002: {
    meaning: 'not JSON: syntax, duplicate key, invalid UTF-8',
    retry: 'no',
    client: 'corrects the JSON, with a library that writes it',
  },
  40003: {
    meaning: 'a field is missing or wrong; the message names every such field and what it must be',
    retry: 'no',
    client: 'corrects the fields that the message names',
  },
  40004: {
    meaning: '`Idempotency-Key` empty, too long or repeated',
    retry: 'no',
    client: 'sends one key of 1 to 255 characters, or none',
  },
  40010: {
    meaning: 'malformed HTTP request',
    retry: 'no',
    client: 'corrects the request; a proxy in between may have spoilt it',
  },
  40100: { meaning: 'no credential', retry: 'with a good token', client: 'sends `Authorization: Bearer <token>`' },
  40101: {
    meaning: 'credential not valid, expired or revoked',
    retry: 'with a good token',
    client: 'gets a valid token from the operator, and sends the request again with it',
  },
  40102: {
    meaning: 'malformed `Authorization` header',
    retry: 'with a good token',
    client: 'sends one header, `Authorization: Bearer <token>`',
  },
  40300: { meaning: 'the token lacks the scope', retry: 'no', client: 'asks the operator for a token with the scope' },
  40400: { meaning: 'no such path', retry: 'no', client: 'corrects the path' },
  40500: { meaning: 'method not offered here', retry: 'no', client: 'sends POST' },
  40800: {
    meaning: 'the request did not arrive in time',
    retry: 'yes',
    client: 'sends the request again; if it happens often, sends smaller bodies or uses a faster network',
  },
  40901: { meaning: 'id taken', retry: 'no', client: 'takes another id; a plant with this one exists' },
  40902: {
    meaning: 'this plant was created with this idempotency key, but another name or tag',
    retry: 'no',
    client: 'takes another id, or repeats the first request unchanged; the plant of the first request is stored',
  },
  41300: { meaning: 'body too large', retry: 'no', client: 'sends less: `BODY_LIMIT` says how much' },
  41500: {
    meaning: 'media type, charset or encoding not supported',
    retry: 'no',
    client: 'sends `Content-Type: application/json` in UTF-8, uncompressed',
  },
  43100: { meaning: 'header fields too large', retry: 'no', client: 'sends fewer or shorter headers' },
  50000: {
    meaning: 'internal error; details only in the log, under the request id',
    retry: 'unknown',
    client: 'gives the operator the `X-Request-Id`; repeats only with the `Idempotency-Key` that the request had',
  },
  50300: {
    meaning: 'storage unavailable, with `Retry-After`; nothing was written',
    retry: 'later',
    client: 'waits for `Retry-After`, then sends the request again',
  },
  50301: {
    meaning: 'storage overloaded, with `Retry-After`; nothing was written',
    retry: 'later',
    client: 'waits for `Retry-After`, then sends the request again, and fewer at a time',
  },
  50400: {
    meaning: 'storage did not answer in time; the outcome is unknown',
    retry: 'with the same `Idempotency-Key`',
    client: 'sends the request again with the `Idempotency-Key` that it had, until another answer comes',
  },
} as const;

/** A number of the error catalogue. */
export type ErrorNumber = keyof typeof ERROR_CATALOGUE;

/** `contract` answers every failure with 400; `semantic` with the status that the error number begins with. */
export type ErrorStatus = 'contract' | 'semantic';

export function statusOf(error: ErrorNumber, errorStatus: ErrorStatus): number {
  return errorStatus === 'contract' ? 400 : Math.trunc(error / 100);
}

/** Whether the failure is that of the service or its database, and not of the request. */
export function isServiceFailure(error: number): boolean {
  return error >= 50000;
}

/** Injection token of the `ErrorStatus` in force. */
export const ERROR_STATUS = Symbol('ERROR_STATUS');
