import { Logger } from '@nestjs/common';
import { resolve } from 'node:path';
import type { AppOptions } from '../app.module.js';
import type { Environment } from '../config/environment.js';
import { loadEnvironment } from '../config/load-environment.js';
import { curlCommand } from './curl-command.js';
import { localToken } from './local-token.js';
import type { RunningService } from './running-service.js';
import { shutdownSignal } from './shutdown-signal.js';

const LOCAL_DIRECTORY = resolve('.data');

/** `plant-store serve`: runs until a signal ends it, and then lets the requests in flight finish. */
export async function serve(): Promise<void> {
  const environment = loadEnvironment(process.env);
  let kill = (): void => undefined;
  const signal = shutdownSignal(() => {
    kill();
  });
  const service = environment.databaseUrl === undefined ? await startLocally(environment) : await start(environment);
  kill = service.kill;
  await signal;
  await service.stop();
}

/** Without a DATABASE_URL: on a PostgreSQL of our own. */
async function startLocally(environment: Environment): Promise<RunningService> {
  // Loaded only here: in production there is no embedded server.
  const { startLocalDatabase } = await import('./local-database.js');
  const postgres = await startLocalDatabase(LOCAL_DIRECTORY);
  try {
    console.log(`PostgreSQL of its own, with its data in ${postgres.location}`);
    const service = await start(Object.assign(environment, { databaseUrl: postgres.url }));
    return { ...service, stop: () => service.stop().finally(() => postgres.stop()) };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

async function start(environment: Environment): Promise<RunningService> {
  const { databaseUrl, basePath } = environment;
  if (databaseUrl === undefined) throw new TypeError('a database is needed');
  // In production the environment is refused without a token.
  const token = environment.accessTokens.length > 0 ? undefined : await localToken(LOCAL_DIRECTORY);
  if (token !== undefined) environment.accessTokens = [token];

  const service = await launch(Object.assign(environment, { databaseUrl }));
  const { url } = service;
  const logger = new Logger('PlantStore');
  logger.log(`Listening on ${url}${basePath}/plants`);
  if (token !== undefined) announce(url, environment, token);
  return {
    ...service,
    stop: () => {
      logger.log('Stopping; requests in flight are answered first');
      return service.stop();
    },
  };
}

/** Each way loads only what it needs: a process that starts others does not hold the application. */
async function launch(options: AppOptions): Promise<RunningService> {
  if (options.workers > 1) return (await import('./start-workers.js')).startWorkers(options);
  return (await import('./start-in-process.js')).startInProcess(options);
}

function announce(url: string, { basePath, docs }: Environment, token: string): void {
  const explore = docs ? `\nOr explore it: ${url}/docs\n` : '';
  console.log(`\nCreate a plant:\n\n${curlCommand(`${url}${basePath}/plants`, token)}\n${explore}`);
}
