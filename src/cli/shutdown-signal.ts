import { constants } from 'node:os';

/** One Ctrl-C can come twice: npm passes on to its child what the terminal has sent to both. */
const ECHO_MS = 200;

/**
 * Resolves at the first SIGINT or SIGTERM. A second one, of somebody who can't wait, ends the process at once.
 *
 * @param beforeExit called first in that case
 */
export function shutdownSignal(beforeExit: () => void): Promise<void> {
  return new Promise((resolve) => {
    let first: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      const now = performance.now();
      first ??= now;
      if (now - first > ECHO_MS) {
        beforeExit();
        process.exit(128 + constants.signals[signal]);
      }
      resolve();
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  });
}
