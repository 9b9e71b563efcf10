import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseDatabaseUrl } from '../database/database-url.js';
import type { RequestObserver } from '../http/request-context.js';
import { packageVersion } from '../util/package-files.cjs';
import { quote } from '../util/text.js';
import { AccessLog } from './access-log.js';
import { ConfigurationError, type Environment, type ServiceEnvironment } from './environment.js';
import { PlantStoreAdapter } from './http/express-adapter.js';
import { createOpenApiDocument, serveSwaggerUi } from './http/swagger-ui.js';
import { ServiceLogger } from './logger.js';
import { ManagementServer, MAX_MANAGEMENT_CONNECTIONS } from './management/management-server.js';
import { RequestMetrics } from './management/metrics.js';
import { ServiceModule } from './service.module.js';

/** Descriptors that the process needs besides: standard streams, listeners, files, look-ups of names, connections for tokens. */
const OWN_DESCRIPTORS = 68;

/** Starts the service. Rejects with the fault of the configuration, the database or a port. */
export async function startService(environment: ServiceEnvironment): Promise<NestExpressApplication> {
  const service = await createService(environment);
  try {
    await service.listen(environment.PORT, environment.HOST);
  } catch (error) {
    // The management listener opens first.
    const prefix = service.get(ManagementServer).address() === undefined ? 'MANAGEMENT_' : '';
    await service.close();
    throw listenError(error, prefix, environment);
  }
  if (environment.NODE_ENV === 'production') {
    const advice = 'tokens and plants are readable on the way to it, so a proxy in front has to add TLS';
    new Logger('PlantStore').log(`${listenUrls(service).public} is plain HTTP: ${advice}`);
  }
  return service;
}

/** The service, complete but not listening. */
export async function createService(environment: ServiceEnvironment): Promise<NestExpressApplication> {
  const logger = new ServiceLogger(environment);
  const { limit, warning } = connectionLimit(environment);
  if (warning !== undefined) logger.warn(warning);
  const requests = new RequestMetrics();
  const observers: RequestObserver[] = [requests];
  if (environment.LOG_REQUESTS !== 'off' && logger.isLevelEnabled('log')) observers.push(new AccessLog(environment));
  const service = await NestFactory.create<NestExpressApplication>(
    ServiceModule.forRoot(environment, requests),
    new PlantStoreAdapter({ ...environment, MAX_CONNECTIONS: limit }, observers),
    // The plant route reads its body itself, after the guard.
    { bodyParser: false, abortOnError: false, logger },
  );
  service.getHttpServer().on('drop', () => {
    logger.warn(`A client connection was refused: ${limit} are open, as many as MAX_CONNECTIONS allows`);
  });
  const document = { basePath: environment.BASE_PATH, errorStatus: environment.ERROR_STATUS };
  if (environment.DOCS) serveSwaggerUi(service, createOpenApiDocument(service, document));
  return service;
}

const PORT_FAULTS: Record<string, string> = {
  EADDRINUSE: 'is taken by another program, should be a free port',
  EACCES: 'is not allowed to this user, should be 1024 or more',
};
const HOST_FAULTS = ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENOTFOUND', 'EAI_AGAIN'];

/** The error of `listen` as a fault of HOST or PORT, whose names may have a prefix. Any other error stays as it is. */
function listenError(cause: unknown, prefix: '' | 'MANAGEMENT_', environment: Environment): Error {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const host = quote(environment[`${prefix}HOST`]);
  const portFault = PORT_FAULTS[code];
  if (portFault === undefined && !HOST_FAULTS.includes(code)) return cause as Error;
  const fault =
    portFault === undefined
      ? `${prefix}HOST: ${host} is no address of this machine (${code}), should be one of its own`
      : `${prefix}PORT: ${environment[`${prefix}PORT`]} on ${host} ${portFault}`;
  // Another program may free the port, and the network may come up later.
  return new ConfigurationError([fault], code !== 'EACCES', { cause });
}

/** How many client connections may be open, so that the database and the management listener always have descriptors left. */
export function connectionLimit(environment: Environment): { limit: number; warning?: string } {
  const { MAX_CONNECTIONS: limit, DATABASE_POOL_SIZE } = environment;
  // Connections to a database that does not answer are replaced while it still keeps them.
  const reserved = OWN_DESCRIPTORS + MAX_MANAGEMENT_CONNECTIONS + 2 * DATABASE_POOL_SIZE;
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  // No number if there is no limit, as on Windows.
  const descriptors = Number(userLimits?.open_files?.soft);
  if (Number.isNaN(descriptors) || limit + reserved <= descriptors) return { limit };
  const lowered = Math.max(1, descriptors - reserved);
  const warning =
    `MAX_CONNECTIONS is lowered from ${limit} to ${lowered}: the process may open ${descriptors} descriptors (ulimit -n), ` +
    `and needs ${reserved} of them itself. Raise that limit, or lower MAX_CONNECTIONS`;
  return { limit: lowered, warning };
}

/** The addresses that the listeners are bound to: Nest's `getUrl` has 127.0.0.1 for all addresses. */
export function listenUrls(service: INestApplication): Readonly<{ public: string; management: string }> {
  const urlOf = (server: { address(): unknown }): string => {
    const { address, family, port } = server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  };
  return { public: urlOf(service.getHttpServer() as Server), management: urlOf(service.get(ManagementServer)) };
}

/** What was started, with which database and how. */
export function describeStart(service: INestApplication, environment: ServiceEnvironment): Record<string, unknown> {
  const { schema, description } = parseDatabaseUrl(environment.DATABASE_URL, environment.DATABASE_PASSWORD);
  return {
    version: packageVersion(),
    node: process.version,
    pid: process.pid,
    ...listenUrls(service),
    database: description,
    schema,
    databasePoolSize: environment.DATABASE_POOL_SIZE,
    errorStatus: environment.ERROR_STATUS,
    production: environment.NODE_ENV === 'production',
  };
}
