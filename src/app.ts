import { type INestApplication, Logger, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { TokensRepository } from './auth/tokens.repository.js';
import { ConfigurationError } from './config/configuration.js';
import { Environment, hasNoConfiguredToken } from './config/environment.js';
import { ServiceLogger } from './config/logger.js';
import { packageVersion } from './config/package-files.js';
import { parseDatabaseUrl } from './database/database-url.js';
import { StorePool } from './database/store-pool.js';
import { REQUEST_ID_HEADER } from './http/request-context.js';
import { ManagementServer } from './management/management-server.js';
import { Metrics } from './management/metrics.js';
import { AccessLog } from './server/access-log.js';
import { PlantStoreAdapter } from './server/express-adapter.js';
import { createOpenApiDocument } from './server/openapi.js';
import { serveSwaggerUi } from './server/swagger-ui.js';

/** A new token is accepted while the service runs. */
const NO_TOKEN = 'No access token is valid now, so nobody can create plants. Create one: plant-store token create NAME';

/** Provides the configuration to all modules. Several applications in one process have one each. */
@Module({})
class EnvironmentModule {}

/** Creates the application without listening. Tests and `plant-store openapi` do so too. */
export async function createApp(environment: Environment, module: Type = AppModule): Promise<NestExpressApplication> {
  const adapter = new PlantStoreAdapter(environment);
  const provider = { provide: Environment, useValue: environment };
  const configuration = { module: EnvironmentModule, global: true, providers: [provider], exports: [provider] };
  const root = { module, imports: [configuration] };
  const app = await NestFactory.create<NestExpressApplication>(root, adapter, {
    abortOnError: false,
    bufferLogs: true,
  });
  const logger = app.get(ServiceLogger);
  app.useLogger(logger);
  app.setGlobalPrefix(environment.BASE_PATH);
  // Those of an answer that a script of another origin may read.
  const exposedHeaders = ['Retry-After', 'WWW-Authenticate', 'Allow', REQUEST_ID_HEADER];
  if (environment.CORS_ORIGINS.length > 0) app.enableCors({ origin: [...environment.CORS_ORIGINS], exposedHeaders });
  adapter.hooks.push(app.get(Metrics));
  if (environment.LOG_REQUESTS !== 'off' && logger.isLevelEnabled('log'))
    adapter.hooks.push(new AccessLog(environment));
  app.getHttpServer().on('drop', () => {
    logger.warn(`A client connection was refused: MAX_CONNECTIONS (${environment.MAX_CONNECTIONS}) are open`);
  });
  if (environment.DOCS === 'on') serveSwaggerUi(app, createOpenApiDocument(app, environment));
  return app;
}

/**
 * Listens, and logs where. Returns the URL of the public listener.
 * @throws ConfigurationError if a port cannot be used
 */
export async function listen(app: INestApplication, environment: Environment): Promise<string> {
  try {
    await app.listen(environment.PORT, environment.HOST);
  } catch (error) {
    // The management listener opens first. If it is closed, its port or address is at fault.
    const prefix = app.get(ManagementServer).address() === undefined ? 'MANAGEMENT_' : '';
    await app.close();
    const { code = '', syscall, message } = error as NodeJS.ErrnoException;
    if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error;
    const isPort = ['EADDRINUSE', 'EACCES'].includes(code);
    const right = isPort ? 'PORT must be a port that is free' : 'HOST must be an address of this machine';
    const fault = `${prefix}${right}: ${message}`;
    // Another program may free it, or the network may come up later.
    throw new ConfigurationError([fault], code !== 'EACCES', { cause: error });
  }
  const logger = new Logger('PlantStore');
  const url = await app.getUrl();
  const management = app.get(ManagementServer).address()?.port;
  const { description: database } = parseDatabaseUrl(environment.DATABASE_URL ?? '', environment.DATABASE_PASSWORD);
  const started = { version: packageVersion(), node: process.version, management, database };
  logger.log(`Listening on ${url}${environment.BASE_PATH}/plants`, started);
  // Nobody waits for it: requests are accepted by now, and a stop has to answer them.
  if (hasNoConfiguredToken(environment))
    void new TokensRepository(app.get(StorePool, { strict: false })).hasValid().then(
      (isThere) => {
        if (!isThere) logger.warn(NO_TOKEN);
      },
      () => undefined,
    );
  return url;
}
