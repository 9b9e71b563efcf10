import { Logger } from '@nestjs/common';
import { resolve } from 'node:path';
import type { AppOptions } from '../app.module.js';
import type { Environment } from '../config/environment.js';
import { listenError } from '../config/listen-error.js';
import { loadEnvironment } from '../config/load-environment.js';
import { createApp } from '../create-app.js';
import { curlCommand } from './curl-command.js';
import { localToken } from './local-token.js';
import { shutdownSignal } from './shutdown-signal.js';

const LOCAL_DIRECTORY = resolve('.data');

interface Service {
  stop(): Promise<void>;
}

/** `plant-store serve`: runs until a signal ends it, and then lets the requests in flight finish. */
export async function serve(): Promise<void> {
  const environment = loadEnvironment(process.env);
  const signal = shutdownSignal();
  const service = environment.databaseUrl === undefined ? await startLocally(environment) : await start(environment);
  await signal;
  await service.stop();
}

/** Without a DATABASE_URL: on a PostgreSQL of our own. */
async function startLocally(environment: Environment): Promise<Service> {
  // Loaded only here: in production there is no embedded server.
  const { startLocalDatabase } = await import('./local-database.js');
  const postgres = await startLocalDatabase(LOCAL_DIRECTORY);
  try {
    console.log(`PostgreSQL of its own, with its data in ${postgres.location}`);
    const service = await start(Object.assign(environment, { databaseUrl: postgres.url }));
    return { stop: () => service.stop().finally(() => postgres.stop()) };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

async function start(environment: Environment): Promise<Service> {
  const { databaseUrl, host, port } = environment;
  if (databaseUrl === undefined) throw new TypeError('a database is needed');
  // In production the environment is refused without a token.
  const token = environment.accessTokens.length > 0 ? undefined : await localToken(LOCAL_DIRECTORY);
  if (token !== undefined) environment.accessTokens = [token];

  const app = await createApp(Object.assign(environment, { databaseUrl }) satisfies AppOptions);
  try {
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw listenError(error, { host: 'HOST', port: 'PORT' }, { host, port });
  }
  const url = await app.getUrl();
  const logger = new Logger('PlantStore');
  logger.log(`Listening on ${url}${environment.basePath}/plants`);
  if (token !== undefined) announce(url, environment, token);
  return {
    stop: () => {
      logger.log('Stopping; requests in flight are answered first');
      return app.close();
    },
  };
}

function announce(url: string, { basePath, docs }: Environment, token: string): void {
  const explore = docs ? `\nOr explore it: ${url}/docs\n` : '';
  console.log(`\nCreate a plant:\n\n${curlCommand(`${url}${basePath}/plants`, token)}\n${explore}`);
}
