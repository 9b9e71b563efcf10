/** Settles as the work does, or rejects when the time is up. The work itself is not stopped. */
export async function withTimeout<T>(work: Promise<T>, milliseconds: number, timeUp: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => {
      reject(timeUp());
    };
    timer = setTimeout(fail, Math.max(0, milliseconds));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
