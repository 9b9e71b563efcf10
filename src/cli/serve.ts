import type { Logger } from '@nestjs/common';
import { constants } from 'node:os';
import type { EmbeddedPostgres } from '../service/embedded-postgres/embedded-postgres.js';
import {
  type Environment,
  loadEnvironment,
  SECRETS,
  type ServiceEnvironment,
  VARIABLES,
} from '../service/environment.js';
import { packageVersion } from '../util/package-files.cjs';
import { reasonOf } from '../util/text.js';
import type { DatabaseAddress } from './database.js';
import { LOCAL_DIRECTORY, localToken, startLocalDatabase } from './local-database.js';
import { describeFailure, print, table } from './output.js';
import { assertInstalled } from './prerequisites.js';
import { printSummary } from './summary.js';

/** Time that a stop gives the query for valid access tokens. */
const HINT_TIMEOUT_MS = 1000;
/** Time to disconnect from the database when SHUTDOWN_TIMEOUT is over. */
const DISCONNECT_MS = 250;
/** Time that the end gives the reader of the log. */
const MAX_LOG_WAIT_MS = 1000;
/** One Ctrl-C can arrive twice: npm passes on to its child the signal that the terminal has sent to both. */
const REPEATED_SIGNAL_MS = 200;
const CREATE_TOKEN_ADVICE =
  'Create one with "plant-store token create NAME" ("npm run plant-store -- token create NAME" in a checkout, ' +
  '"docker compose exec api plant-store token create NAME" with Docker Compose)';

/** `plant-store serve`: runs until a signal, and then answers the requests in flight. */
export async function serve(): Promise<void> {
  const environment = loadEnvironment(process.env);
  assertInstalled(environment);
  const stopped = shutdownSignal();
  // A terminal that was closed takes no more lines. Without a listener that would be the end of the process, before the stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const isEmbedded = environment.DATABASE_URL === undefined;
  const token = isEmbedded && isTokenless(environment) ? await localToken() : undefined;
  const postgres = isEmbedded ? await startLocalDatabase() : undefined;
  try {
    if (postgres) {
      const isElsewhere = !postgres.location.startsWith(LOCAL_DIRECTORY);
      const reason = isElsewhere ? ': it does not run as root, and no other user can work in this folder' : '';
      console.log(`PostgreSQL of its own, with its data in ${postgres.location}${reason}`);
    }
    if (token !== undefined) environment.ACCESS_TOKENS = [token];
    await run(environment, stopped, token, postgres);
  } finally {
    await postgres?.stop();
    // Lines that wait keep the process alive, and perhaps no program reads them.
    setTimeout(() => process.exit(), MAX_LOG_WAIT_MS).unref();
  }
  // Nor may anything else, once the log is written.
  process.stdout.write('', () => process.exit());
}

/** Whether no token is configured: then only those in the database are valid. */
export function isTokenless({ ACCESS_TOKENS, JWT_ISSUER }: Environment): boolean {
  return ACCESS_TOKENS.length === 0 && JWT_ISSUER === undefined;
}

/** @param token the one that the service has made for itself */
async function run(
  environment: Environment,
  stopped: Promise<string>,
  token?: string,
  postgres?: EmbeddedPostgres,
): Promise<void> {
  const { BASE_PATH, DATABASE_PASSWORD: password } = environment;
  const databaseUrl = postgres?.url ?? String(environment.DATABASE_URL);
  // Loaded only here: neither --help nor a fault of the configuration waits for the application.
  const [{ Logger }, { describeStart, listenUrls, startService }] = await Promise.all([
    import('@nestjs/common'),
    import('../service/bootstrap.js'),
  ]);
  const options: ServiceEnvironment = Object.assign(environment, { DATABASE_URL: databaseUrl });
  const app = await startService(options).catch(async (error: unknown) => {
    throw (await import('./database.js')).adviseOnConnection(error);
  });
  const logger = new Logger('PlantStore');
  const urls = listenUrls(app);
  logger.log(`Listening on ${urls.public}${BASE_PATH}/plants`);
  if (postgres && environment.HOST === '127.0.0.1')
    logger.log('Only this machine can connect. HOST=0.0.0.0 lets other machines connect; a container needs it too');
  process.on('uncaughtExceptionMonitor', (error) => {
    logger.fatal('The process ends because of a failure that nothing handled', describeFailure(error));
  });
  const started = `Started plant-store ${packageVersion()}`;
  if (!process.stdout.isTTY) {
    logger.log(started, describeStart(app, options));
  } else {
    // A person reads the summary.
    logger.log(`${started} on Node.js ${process.versions.node}`);
  }
  if (postgres) printSummary(urls.public, environment, token);
  const stopping = new AbortController();
  const hint =
    isTokenless(environment) && hintAtFirstToken({ url: databaseUrl, password, signal: stopping.signal }, logger);

  const stop = await Promise.race([stopped, ...(postgres ? [postgres.ended()] : [])]);
  const reason = typeof stop === 'string' ? stop : 'the embedded PostgreSQL has ended';
  const start = performance.now();
  logger.log('Stopping; requests in flight are answered first', { reason });
  process.once('exit', (exitCode) => {
    logger.log(`Stopped after ${((performance.now() - start) / 1000).toFixed(1)} s`, { reason, exitCode });
  });
  setTimeout(() => {
    stopping.abort();
  }, HINT_TIMEOUT_MS).unref();
  // Statements of requests that were cut off may wait longer for their database.
  const forced = setTimeout(() => {
    logger.warn('The database did not answer in time; the process ends nevertheless');
    process.exit(1);
  }, environment.SHUTDOWN_TIMEOUT + DISCONNECT_MS);
  // After a failure too it must not keep the process.
  await app.close().finally(() => {
    clearTimeout(forced);
  });
  await hint;
  if (typeof stop !== 'string') throw stop;
}

/** Resolves to what asks for the stop: the first SIGINT, SIGTERM or SIGHUP (the terminal was closed). The second one ends the process at once. */
function shutdownSignal(): Promise<string> {
  return new Promise((resolve) => {
    let first: number | undefined;
    const stop = (signal: NodeJS.Signals, reason: string): void => {
      const now = performance.now();
      first ??= now;
      if (now - first > REPEATED_SIGNAL_MS) process.exit(128 + constants.signals[signal]);
      resolve(reason);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, stop.bind(undefined, signal, signal));
    if (process.env.npm_lifecycle_event === undefined) return;
    // npm signals its shell, which ends without passing the signal on.
    const shell = process.ppid;
    setInterval(() => {
      if (first === undefined && process.ppid !== shell) stop('SIGTERM', 'the shell of npm has ended');
    }, REPEATED_SIGNAL_MS).unref();
  });
}

/** Logs how to create an access token if none is valid. The service runs meanwhile: a token is accepted as soon as it is created. */
export async function hintAtFirstToken(address: DatabaseAddress, logger: Logger): Promise<void> {
  try {
    const { onTokens, withDatabase } = await import('./database.js');
    const hasValid = onTokens(async (tokens) => (await tokens.list()).some(({ state }) => state === 'valid'));
    if (await withDatabase(address, hasValid)) return;
    logger.warn(`No access token is valid now, so nobody can create plants. ${CREATE_TOKEN_ADVICE}`);
  } catch (error) {
    if (address.signal?.aborted) return;
    logger.warn(`Whether any access token is valid is not known: ${reasonOf(error)}. ${CREATE_TOKEN_ADVICE}`);
  }
}

/** `plant-store openapi`: prints the document that the service would serve. Connects to nothing. */
export async function openapi(): Promise<void> {
  const environment = loadEnvironment({ ...process.env, NODE_ENV: 'development', LOG_LEVEL: 'fatal' });
  const DATABASE_URL = environment.DATABASE_URL ?? 'postgresql://localhost/plants';
  const options = Object.assign(environment, { DATABASE_URL, DOCS: false });
  assertInstalled(options);
  const { createService } = await import('../service/bootstrap.js');
  const { createOpenApiDocument } = await import('../service/http/swagger-ui.js');
  const app = await createService(options);
  await print(
    JSON.stringify(
      createOpenApiDocument(app, { basePath: environment.BASE_PATH, errorStatus: environment.ERROR_STATUS }),
      undefined,
      2,
    ),
  );
}

export function describeEnvironment(): string {
  const rows = Object.entries(VARIABLES).map(([name, [, initial, about]]) => ['', name, initial, about]);
  const secrets = SECRETS.map((name) => `${name}_FILE`);
  return `Environment variables, with their defaults:

${table(rows)}

A secret may be in a file, which one of these names: ${secrets.join(', ')}`;
}
