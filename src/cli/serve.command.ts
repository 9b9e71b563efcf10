import { Logger } from '@nestjs/common';
import type { AppOptions } from '../app/app.module.js';
import { type Environment, loadEnvironment } from '../app/config.js';
import { curlCommand } from './curl-command.js';
import type { FirstTokenHint } from './first-token-hint.js';
import { LOCAL_DIRECTORY } from './local-directory.js';
import { localToken } from './local-token.js';
import type { RunningService } from './running-service.js';
import { shutdownSignal } from './shutdown-signal.js';

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
  const { databaseUrl, basePath, production } = environment;
  if (databaseUrl === undefined) throw new TypeError('a database is needed');
  const tokenless = environment.accessTokens.length === 0 && environment.jwtIssuer === undefined;
  const token = tokenless && !production ? await localToken(LOCAL_DIRECTORY) : undefined;
  if (token !== undefined) environment.accessTokens = [token];

  const service = await launch(Object.assign(environment, { databaseUrl }));
  const { url } = service;
  const logger = new Logger('PlantStore');
  logger.log(`Listening on ${url}${basePath}/plants`);
  if (token !== undefined) announce(url, environment, token);
  const hint = tokenless && token === undefined ? await hintAtFirstToken(environment, databaseUrl) : undefined;
  return {
    ...service,
    stop: () => {
      logger.log('Stopping; requests in flight are answered first');
      hint?.end();
      return service.stop();
    },
  };
}

/** Each way loads only what it needs: a process that starts others does not hold the application. */
async function launch(options: AppOptions): Promise<RunningService> {
  return (await import('./start-in-process.js')).startInProcess(options);
}

/** Loaded only where it is needed: a process that starts others does not hold what it takes. */
async function hintAtFirstToken({ databasePassword: password }: Environment, url: string): Promise<FirstTokenHint> {
  const { FirstTokenHint } = await import('./first-token-hint.js');
  const hint = new FirstTokenHint();
  void hint.give({ url, password });
  return hint;
}

function announce(url: string, { basePath, docs }: Environment, token: string): void {
  const explore = docs ? `\nOr explore it: ${url}/docs\n` : '';
  console.log(`\nCreate a plant:\n\n${curlCommand(`${url}${basePath}/plants`, token)}\n${explore}`);
}
