/**
 * Does the work, but rejects with the signal's reason as soon as that is aborted, even where the work pays no heed to
 * it; and does not begin where that has happened already.
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
