import { type INestApplication, Logger } from '@nestjs/common';
import { constants } from 'node:os';

/** The time to disconnect from the database after SHUTDOWN_TIMEOUT. */
const DISCONNECT_MS = 250;
/** One Ctrl-C can arrive twice: from the terminal, and from npm, which passes it on. */
const REPEATED_SIGNAL_MS = 200;

/** Resolves with the first SIGINT, SIGTERM or SIGHUP (a closed terminal). The second one ends the process at once. */
export function stopSignal(): Promise<string> {
  // A closed terminal takes no more lines. Without a listener, that error would end the process before the stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        first ??= performance.now();
        if (performance.now() - first > REPEATED_SIGNAL_MS) process.exit(128 + constants.signals[signal]);
        resolve(signal);
      });
  });
}

/** Logs why the process ends, if it is because of a failure that nothing handles. */
export function logCrash(): void {
  process.on('uncaughtExceptionMonitor', ({ stack }) => {
    new Logger('PlantStore').fatal('A failure that nothing handled ends the process', { stack });
  });
}

/**
 * Answers the requests in flight and closes the application. After the time limit the process ends anyway.
 * @param cause the signal; or an error, which is thrown at the end
 */
export async function closeWithin(app: INestApplication, limit: number, cause: string | Error): Promise<void> {
  const logger = new Logger('PlantStore');
  const reason = typeof cause === 'string' ? cause : 'the embedded PostgreSQL has ended';
  logger.log('Stopping; requests in flight are answered first', { reason });
  // Statements of cut-off requests may still wait for the database.
  const forced = setTimeout(() => {
    logger.warn('The stop took longer than SHUTDOWN_TIMEOUT. The process ends; the outcome of open creates is unknown');
    process.exit(1);
  }, limit + DISCONNECT_MS).unref();
  await app.close();
  clearTimeout(forced);
  logger.log('Stopped', { reason });
  if (typeof cause !== 'string') throw cause;
}
