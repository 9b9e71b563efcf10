import { abortable } from './abortable.js';

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
