/** Runs one until its end, or until Ctrl-C or SIGTERM: the signal is then aborted, and what was started has to be ended. */
export async function runBenchmark(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      controller.abort(new Error(`interrupted by ${name}`));
    });
  }
  try {
    await work(controller.signal);
  } catch (error) {
    console.error(error instanceof RangeError || error === controller.signal.reason ? (error as Error).message : error);
    process.exitCode = 1;
  }
}
