import { Logger } from '@nestjs/common';
import type { AppOptions } from '../app.module.js';
import type { Environment } from '../config/environment.js';
import { listenError } from '../config/listen-error.js';
import { loadEnvironment } from '../config/load-environment.js';
import { createApp } from '../create-app.js';
import { Migrator } from '../database/migrator.js';
import { shutdownSignal } from './shutdown-signal.js';

interface Service {
  /** Where this machine reaches it. */
  url: string;
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

/** Without a DATABASE_URL: on a PostgreSQL of our own, with a token of our own. */
async function startLocally(environment: Environment): Promise<Service> {
  // Loaded only here: in production there is neither the embedded server nor a made-up token.
  const { LocalSetup } = await import('./local-setup.js');
  const local = await LocalSetup.start(environment);
  try {
    const service = await start(local.environment);
    local.announce(service.url);
    return { url: service.url, stop: () => service.stop().finally(() => local.stop()) };
  } catch (error) {
    await local.stop();
    throw error;
  }
}

async function start(environment: Environment): Promise<Service> {
  const { databaseUrl, databasePassword, host, port } = environment;
  if (databaseUrl === undefined) throw new TypeError('a database is needed');
  await new Migrator({ url: databaseUrl, password: databasePassword }).assertCurrent();
  const app = await createApp(Object.assign(environment, { databaseUrl }) satisfies AppOptions);
  try {
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw listenError(error, { host: 'HOST', port: 'PORT' }, { host, port });
  }
  const url = await app.getUrl();
  Logger.log(`Listening on ${url}${environment.basePath}/plants`, 'PlantStore');
  return { url, stop: () => app.close() };
}
