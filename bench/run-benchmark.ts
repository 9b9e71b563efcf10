/** Runs one until its end, or until Ctrl-C or the like: the signal is then aborted, and what was started has to be ended. */
export async function runBenchmark(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      controller.abort(new Error(`interrupted by ${name}`));
    });
  }
  try {
    await work(controller.signal);
  } catch (error) {
    const { signal } = controller;
    const reason: unknown = signal.aborted ? signal.reason : error;
    // What was asked for wrongly, or ended on purpose, needs no stack.
    console.error(signal.aborted || isMisuse(reason) ? (reason as Error).message : reason);
    process.exitCode = 1;
  }
}

/** An option that is unknown, or that has a value which it can't have. */
function isMisuse(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return error instanceof RangeError || String(code).startsWith('ERR_PARSE_ARGS');
}
