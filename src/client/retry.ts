import type { RequestError } from './errors.js';
import type { PlantStoreClientOptions } from './options.js';

/**
 * Milliseconds to wait before a repetition, the first being 0: what the answer asks for, and on top exponential backoff
 * with full jitter, so that those who failed together do not come back together. Returns undefined if there should
 * be no repetition: the failure would stay, or the answer asks for a longer wait than the client allows.
 */
export function retryDelay(
  { retryable, retryAfter = 0 }: RequestError,
  repetition: number,
  { retryDelay, maxRetryDelay }: Required<Pick<PlantStoreClientOptions, 'retryDelay' | 'maxRetryDelay'>>,
): number | undefined {
  const asked = retryAfter * 1000;
  if (!retryable || asked > maxRetryDelay) return undefined;
  return Math.min(asked + Math.random() * retryDelay * 2 ** repetition, maxRetryDelay);
}

/**
 * Does the work with a signal that is aborted with the caller's, or by a `TimeoutError` when the time is up, and rejects
 * with its reason then. A timer of its own, as `AbortSignal.any` may lose an `AbortSignal.timeout` to the garbage
 * collector in some releases of Node.js.
 */
export async function withTimeLimit<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new DOMException(`it took more than ${milliseconds} ms`, 'TimeoutError'));
  }, milliseconds);
  const abort = (): void => {
    controller.abort(signal?.reason);
  };
  signal?.addEventListener('abort', abort);
  try {
    return await abortable(() => work(controller.signal), controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/**
 * Does the work, but rejects with the signal's reason as soon as that is aborted, even if the work ignores the signal. Does
 * not begin if it is aborted already.
 */
export function abortable<T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is what the caller chose.
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort);
    void Promise.resolve()
      .then(work)
      .then(resolve, reject)
      .finally(() => signal?.removeEventListener('abort', abort));
  });
}
