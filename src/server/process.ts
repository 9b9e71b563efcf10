import { type INestApplication, Logger } from '@nestjs/common';
import { constants } from 'node:os';
import { withoutTokens } from '../auth/token-format.js';
import { ConfigurationError } from '../config/configuration.js';
import { MigrationError, sqlStateOf } from '../database/database.errors.js';
import { escapeLines, ExplainedError } from '../util/text.js';

/** The time to disconnect from the database after SHUTDOWN_TIMEOUT. */
const DISCONNECT_MS = 250;
/** One Ctrl-C can arrive twice: from the terminal, and from npm, which passes it on. */
const REPEATED_SIGNAL_MS = 200;
/** EX_CONFIG of sysexits.h tells a service manager that another try is of no use. */
const EX_CONFIG = 78;

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
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    new Logger('PlantStore').fatal('A failure that nothing handled ends the process', { stack: stackOf(error) });
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

/** Prints to standard error. The text may repeat arguments or data, so control characters and tokens are removed. */
export function printError(text: string): void {
  console.error(escapeLines(withoutTokens(text.trimEnd())));
}

/** Runs a command. Prints why it failed, with the stack if nothing explains it, and returns the exit code. */
export async function exitCodeOf(command: () => Promise<unknown>): Promise<number> {
  try {
    await command();
    return 0;
  } catch (error) {
    printError(error instanceof ExplainedError ? `plant-store: ${error.message}${adviceOn(error)}` : stackOf(error));
    return error instanceof ConfigurationError && !error.mayPass ? EX_CONFIG : 1;
  }
}

function stackOf(error: unknown): string {
  return (Object(error) as Partial<Error>).stack ?? String(error);
}

/** What to do if no connection could be made, by SQLSTATE, code and message. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/does not support SSL/, 'Switch TLS on at the server, or write sslmode=disable in its URL'],
  [/CERT|UNABLE_TO_/, 'Its URL needs a host name of the certificate, and sslrootcert=/path/ca.crt for its authority'],
  [/^3D000/, 'Create it (CREATE DATABASE), or correct its URL'],
  [
    /^28|client password must be/,
    'Correct the user in its URL, the password (DATABASE_PASSWORD, MIGRATION_DATABASE_PASSWORD), or pg_hba.conf',
  ],
  [/^ /, 'Start PostgreSQL (the service does so without DATABASE_URL), or correct its URL'],
];

function adviceOn(error: unknown): string {
  if (!(error instanceof MigrationError) || error.code !== 'unreachable') return '';
  const { code, message } = Object(error.cause) as NodeJS.ErrnoException;
  const found = `${sqlStateOf(error) ?? ''} ${code} ${message}`;
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(found)) ?? [];
  return advice === undefined ? '' : `. ${advice}`;
}
