/** What is known of a failed create besides its message. */
export interface RequestErrorDetails extends ErrorOptions {
  retryable: boolean;
  retryAfter?: number | undefined;
  idempotencyKey: string;
}

/**
 * A create that failed; tells of its last attempt. An earlier one may have created the plant all the same, where its
 * answer was lost: only a repetition with the same `idempotencyKey` tells.
 */
export abstract class RequestError extends Error {
  /** Whether the same plant, sent again with the same `idempotencyKey`, may be created. It never is created twice. */
  readonly retryable: boolean;
  /** Seconds to wait before, where the answer says so. */
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
