/** Settles as the work does, or, where that takes longer, rejects with an error made then. The work goes on, unheard. */
export async function withinTime<T>(work: Promise<T>, milliseconds: number, timeUp: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => {
        reject(timeUp());
      },
      Math.max(0, milliseconds),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
