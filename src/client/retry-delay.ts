import type { RequestError } from './request.error.js';

export interface RetryDelayOptions {
  /** Milliseconds before the first repetition, at most. */
  retryDelay: number;
  /** Milliseconds before any, at most. */
  maxRetryDelay: number;
}

/**
 * Milliseconds to wait before a repetition, the first being 0: what the answer asks for, and on top exponential backoff
 * with full jitter, so that those who failed together do not come back together. Returns undefined where there should
 * be none: the failure would stay, or the answer asks for more than the client may wait.
 */
export function retryDelay(
  { retryable, retryAfter = 0 }: RequestError,
  repetition: number,
  { retryDelay, maxRetryDelay }: RetryDelayOptions,
): number | undefined {
  const asked = retryAfter * 1000;
  if (!retryable || asked > maxRetryDelay) return undefined;
  return Math.min(asked + Math.random() * retryDelay * 2 ** repetition, maxRetryDelay);
}
