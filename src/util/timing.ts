/** Settles as the work does. If that takes longer, it rejects with an error made then; the work goes on, and its result is lost. */
export async function withinTime<T>(work: Promise<T>, milliseconds: number, timeUp: () => Error): Promise<T> {
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
