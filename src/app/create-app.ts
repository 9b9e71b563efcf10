import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseDatabaseUrl } from '../database/database-url.js';
import { Database } from '../database/database.js';
import { ClientStatistics } from '../management/client-statistics.js';
import { ManagementListenError, ManagementServer } from '../management/management-server.js';
import { PlantStoreAdapter } from '../service/http/express-adapter.js';
import { createOpenApiDocument, serveSwaggerUi } from '../service/http/swagger-ui.js';
import { packageVersion } from '../util/package-files.cjs';
import { AccessLog } from './access-log.js';
import { AppModule, type AppOptions } from './app.module.js';
import { ConfigurationError, findListenError, listenError } from './config-error.js';
import { connectionLimit } from './prerequisites.js';
import { ServiceLogger } from './service-logger.js';

/** Starts the standalone application. Rejects with the fault of the configuration, the database or a port. */
export async function startApp(options: AppOptions): Promise<NestExpressApplication> {
  const app = await createApp(options);
  try {
    await app.listen(options.port, options.host);
  } catch (error) {
    await app.close();
    const { host, port, managementHost, managementPort } = options;
    if (!(error instanceof ManagementListenError)) throw listenError(error, '', host, port);
    const fault = listenError(error.cause, 'MANAGEMENT_', managementHost, managementPort);
    // The management listener opens first; the other port may be taken, too.
    const other = await findListenError('', host, port);
    if (!(other instanceof ConfigurationError && fault instanceof ConfigurationError)) throw fault;
    const isTemporary = other.isTemporary && fault.isTemporary;
    throw new ConfigurationError([...other.faults, ...fault.faults], { cause: fault, isTemporary });
  }
  return app;
}

/** The standalone application, complete but not listening. */
export async function createApp(options: AppOptions): Promise<NestExpressApplication> {
  const logger = new ServiceLogger(options);
  const { limit, warning } = connectionLimit(options);
  if (warning !== undefined) logger.warn(warning, 'PlantStore');
  const clients = new ClientStatistics();
  const observers = [clients, ...AccessLog.observers(logger, options)];
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(options, clients),
    new PlantStoreAdapter(options, limit, observers),
    // The plant route reads its body itself, after the guard.
    { bodyParser: false, abortOnError: false, logger },
  );
  app.getHttpServer().on('drop', () => {
    logger.warn(`A client connection was refused: ${limit} are open, as many as MAX_CONNECTIONS allows`, 'PlantStore');
  });
  if (options.docs) serveSwaggerUi(app, createOpenApiDocument(app, options));
  return app;
}

/** The addresses that the listeners are bound to: Nest's `getUrl` has 127.0.0.1 for all addresses. */
export function listenUrls(app: INestApplication): Readonly<{ public: string; management: string }> {
  const addresses = [app.getHttpServer() as Server, app.get(ManagementServer, { strict: false })];
  const [listener = '', management = ''] = addresses.map((server) => urlOf(server.address() as AddressInfo));
  return { public: listener, management };
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** What was started, with which database and how. It never rejects: a version that the database does not tell is left out. */
export async function describeStart(app: INestApplication, options: AppOptions): Promise<Record<string, unknown>> {
  const { schema, description } = parseDatabaseUrl(options.databaseUrl, options.databasePassword);
  return {
    version: packageVersion(),
    node: process.version,
    pid: process.pid,
    ...listenUrls(app),
    database: description,
    schema,
    databaseVersion: await databaseVersion(app.get(Database, { strict: false })),
    databasePoolSize: options.databasePoolSize,
    errorStatus: options.errorStatus,
    production: options.production,
  };
}

async function databaseVersion({ query }: Database): Promise<string | undefined> {
  const sql = `SELECT pg_catalog.current_setting('server_version') AS version`;
  const rows = await query<{ version: string }>(sql).catch(() => []);
  return rows[0]?.version;
}
