import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseDatabaseUrl } from '../database/database-url.js';
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

/** Descriptors that the process needs besides connections: standard streams, listeners, files, look-ups of names. */
const OWN_DESCRIPTORS = 64;

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
  const hasLog = environment.LOG_REQUESTS !== 'off' && logger.isLevelEnabled('log');
  const adapter = new PlantStoreAdapter(
    {
      errorStatus: environment.ERROR_STATUS,
      requestTimeout: environment.REQUEST_TIMEOUT,
      drainDelay: environment.DRAIN_DELAY,
      shutdownTimeout: environment.SHUTDOWN_TIMEOUT,
      storageTimeout: environment.STORAGE_TIMEOUT,
    },
    limit,
    hasLog ? [requests, new AccessLog(environment)] : [requests],
  );
  const service = await NestFactory.create<NestExpressApplication>(
    ServiceModule.forRoot(environment, requests),
    adapter,
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

/** The error of `listen` as a fault of HOST or PORT, whose names may have a prefix. Any other error stays as it is. */
function listenError(cause: unknown, prefix: '' | 'MANAGEMENT_', environment: Environment): Error {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const host = quote(environment[`${prefix}HOST`]);
  const port = `${prefix}PORT: ${environment[`${prefix}PORT`]} on ${host}`;
  const unknown = `${prefix}HOST: ${host} is no address of this machine (${code}), should be one of its own`;
  const faults: Record<string, string> = {
    EADDRINUSE: `${port} is taken by another program, should be a free port`,
    EACCES: `${port} is not allowed to this user, should be 1024 or more`,
    EADDRNOTAVAIL: unknown,
    EAFNOSUPPORT: unknown,
    ENOTFOUND: unknown,
    EAI_AGAIN: unknown,
  };
  const fault = faults[code];
  // Another program may free the port, and the network may come up later.
  return fault === undefined ? (cause as Error) : new ConfigurationError([fault], code !== 'EACCES', { cause });
}

/** How many client connections may be open, so that the database and the management listener always have descriptors left. */
export function connectionLimit({ MAX_CONNECTIONS, DATABASE_POOL_SIZE }: Environment): {
  limit: number;
  warning?: string;
} {
  // Connections to a database that does not answer are replaced while it still keeps them; and two are for access tokens.
  const reserved = OWN_DESCRIPTORS + MAX_MANAGEMENT_CONNECTIONS + 2 * (DATABASE_POOL_SIZE + 2);
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const descriptors = Number(userLimits?.open_files?.soft);
  // No number if there is no limit, as on Windows.
  if (Number.isNaN(descriptors) || MAX_CONNECTIONS + reserved <= descriptors) return { limit: MAX_CONNECTIONS };
  const limit = Math.max(1, descriptors - reserved);
  const found = `the process may open ${descriptors} descriptors (ulimit -n), and needs ${reserved} of them itself`;
  return {
    limit,
    warning: `MAX_CONNECTIONS is lowered from ${MAX_CONNECTIONS} to ${limit}: ${found}. Raise that limit, or lower MAX_CONNECTIONS`,
  };
}

/** The addresses that the listeners are bound to: Nest's `getUrl` has 127.0.0.1 for all addresses. */
export function listenUrls(service: INestApplication): Readonly<{ public: string; management: string }> {
  const addresses = [service.getHttpServer() as Server, service.get(ManagementServer)];
  const [listener = '', management = ''] = addresses.map((server) => urlOf(server.address() as AddressInfo));
  return { public: listener, management };
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
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
