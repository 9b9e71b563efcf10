import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { StorePool } from '../../prisma/store-pool.js';
import { Migrator } from '../../prisma/migrator.js';
import { packageVersion } from '../package-files.cjs';
import { EmbeddedPostgres, LOCAL_DIRECTORY, LOCAL_TOKEN, LOCAL_URL } from '../embedded-postgres/embedded-postgres.js';
import { type Environment, loadEnvironment } from '../environment.js';
import { assertInstalled, warnIfNoToken, hasNoConfiguredToken } from './check.js';

/** The time to disconnect from the database after SHUTDOWN_TIMEOUT. */
const DISCONNECT_MS = 250;
/** The longest wait for the reader of the log at the end. */
const MAX_LOG_WAIT_MS = 1000;
/** One Ctrl-C can arrive twice: from the terminal, and from npm, which passes it on. */
const REPEATED_SIGNAL_MS = 200;

/** `plant-store serve`: runs until a signal, then answers the requests in flight. */
export async function serve(): Promise<void> {
  const environment = loadEnvironment(process.env);
  assertInstalled();
  // V8 takes objects of a request for long-lived ones under load. Each would keep its whole request until a full
  // collection of garbage. That costs a quarter of the CPU time.
  setFlagsFromString('--no-allocation-site-pretenuring');
  const stopped = shutdownSignal();
  // A closed terminal takes no more lines. Without a listener, that error would end the process before the stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const isEmbedded = environment.DATABASE_URL === undefined;
  const postgres = isEmbedded ? await startLocalDatabase() : undefined;
  try {
    const token = isEmbedded && hasNoConfiguredToken(environment) ? await localToken() : undefined;
    if (token !== undefined) environment.ACCESS_TOKENS = [token];
    await run(environment, stopped, postgres, token);
  } finally {
    await postgres?.stop();
    // Another program may get the port later, and must not get the password.
    if (postgres) await rm(LOCAL_URL, { force: true });
    // Waiting lines keep the process alive, but perhaps nobody reads them.
    setTimeout(() => process.exit(), MAX_LOG_WAIT_MS).unref();
  }
  // Nothing else may keep the process alive once the log is written.
  process.stdout.write('', () => process.exit());
}

/** @param token the token that the service made for itself */
async function run(
  environment: Environment,
  stopped: Promise<string>,
  postgres: EmbeddedPostgres | undefined,
  token: string | undefined,
): Promise<void> {
  // This module needs packages that a host does not have.
  const { describeStart, listenUrls, startService } = await import('../bootstrap.js');
  const options = Object.assign(environment, { DATABASE_URL: postgres?.url ?? String(environment.DATABASE_URL) });
  const service = await startService(options);
  const logger = new Logger('PlantStore');
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    const stack = error instanceof Error ? error.stack : String(error);
    logger.fatal('The process ends because of a failure that nothing handled', { stack });
  });
  const url = listenUrls(service).public;
  logger.log(`Listening on ${url}${environment.BASE_PATH}/plants`);
  logger.log(`Started plant-store ${packageVersion()}`, describeStart(service, options));
  if (postgres) printSummary(url, environment, postgres.location, token);
  const { select, schema } = service.get(StorePool, { strict: false });
  if (hasNoConfiguredToken(environment)) void warnIfNoToken(select, schema);

  const stop = await Promise.race([stopped, ...(postgres ? [postgres.ended()] : [])]);
  const reason = typeof stop === 'string' ? stop : 'the embedded PostgreSQL has ended';
  const start = performance.now();
  logger.log('Stopping; requests in flight are answered first', { reason });
  process.once('exit', (exitCode) => {
    logger.log(`Stopped after ${((performance.now() - start) / 1000).toFixed(1)} s`, { reason, exitCode });
  });
  // Statements of cut-off requests may still wait for the database.
  const forced = setTimeout(() => {
    logger.warn('The stop took longer than SHUTDOWN_TIMEOUT. The process ends; the outcome of open creates is unknown');
    process.exit(1);
  }, environment.SHUTDOWN_TIMEOUT + DISCONNECT_MS);
  // The timer must not keep the process alive after a failure.
  await service.close().finally(() => {
    clearTimeout(forced);
  });
  if (typeof stop !== 'string') throw stop;
}

/** Starts the embedded PostgreSQL, migrates it and writes its URL into a file. */
async function startLocalDatabase(): Promise<EmbeddedPostgres> {
  const postgres = await EmbeddedPostgres.start(LOCAL_DIRECTORY);
  try {
    await new Migrator({ url: postgres.url }).migrate();
    // The port may differ at each start.
    await writeSecret(LOCAL_URL, postgres.url);
    return postgres;
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** Reads the access token of the local folder, or makes it at the first start. */
async function localToken(): Promise<string> {
  const kept = await readFile(LOCAL_TOKEN, 'utf8').catch(() => '');
  if (kept !== '') return kept.trim();
  const token = randomBytes(24).toString('base64url');
  await writeSecret(LOCAL_TOKEN, token);
  return token;
}

/** Writes a file that only this user can read. The rename at the end keeps a crash from leaving an empty file. */
async function writeSecret(path: string, secret: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  await rm(draft, { force: true });
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await rename(draft, path);
}

/** Resolves with the first SIGINT, SIGTERM or SIGHUP (a closed terminal). The second one ends the process at once. */
function shutdownSignal(): Promise<string> {
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

/** Prints how to use a store with the embedded database. */
function printSummary(listener: string, environment: Environment, location: string, token?: string): void {
  const { BASE_PATH, DOCS } = environment;
  const url = listener.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]');
  const lines = ['', `Plant Store ${packageVersion()}`, '', `  Plants  ${url}${BASE_PATH}/plants`];
  // A browser does not send the part after #.
  if (DOCS) lines.push(`  Docs    ${url}/docs${token === undefined ? '' : `#token=${token}`}`);
  lines.push(`  Data    ${location}`, '');
  if (token !== undefined) {
    // A new id each time lets the line be used again.
    const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
    const headers = `-H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json'`;
    lines.push('Create a plant:', '', `curl -X POST ${url}${BASE_PATH}/plants ${headers} -d '${plant}'`, '');
  }
  lines.push('Look into the database:', '', 'psql "$(cat .data/database-url)"', '');
  console.log(lines.join('\n'));
}
