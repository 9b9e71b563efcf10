import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseDatabaseUrl } from '../prisma/database-url.js';
import type { RequestObserver } from '../http/request-context.js';
import { quote } from '../util/text.js';
import { AccessLog } from './access-log.js';
import { ConfigurationError, type Environment, type ServiceEnvironment } from './environment.js';
import { PlantStoreAdapter } from './http/express-adapter.js';
import { createOpenApiDocument, serveSwaggerUi } from './http/swagger-ui.js';
import { ServiceLogger } from './logger.js';
import { ManagementServer } from './management/management-server.js';
import { RequestMetrics } from './management/metrics.js';
import { ServiceModule } from './service.module.js';

/** Starts the service. Rejects if the configuration, the database or a port cannot be used. */
export async function startService(environment: ServiceEnvironment): Promise<NestExpressApplication> {
  const service = await createService(environment);
  try {
    await service.listen(environment.PORT, environment.HOST);
  } catch (error) {
    // The management listener opens first. If it is closed, its port is at fault.
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

/** Creates the service without listening. */
export async function createService(environment: ServiceEnvironment): Promise<NestExpressApplication> {
  const logger = new ServiceLogger(environment);
  const requests = new RequestMetrics();
  const observers: RequestObserver[] = [requests];
  if (environment.LOG_REQUESTS !== 'off' && logger.isLevelEnabled('log')) observers.push(new AccessLog(environment));
  const service = await NestFactory.create<NestExpressApplication>(
    ServiceModule.forRoot(environment, requests),
    new PlantStoreAdapter(environment, observers),
    // The route of the plants reads its body itself, after the guard.
    { bodyParser: false, abortOnError: false, logger },
  );
  service.getHttpServer().on('drop', () => {
    logger.warn(
      `A client connection was refused: ${environment.MAX_CONNECTIONS} are open, as many as MAX_CONNECTIONS allows`,
    );
  });
  if (environment.DOCS) serveSwaggerUi(service, createOpenApiDocument(service, environment));
  return service;
}

/** Turns an error of `listen` into a fault of the variables. Any other error stays as it is. */
function listenError(cause: unknown, prefix: '' | 'MANAGEMENT_', environment: Environment): Error {
  const { code, syscall, message } = cause as NodeJS.ErrnoException;
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return cause as Error;
  const where = `${environment[`${prefix}PORT`]} on ${quote(environment[`${prefix}HOST`])} (${prefix}HOST)`;
  const fault = `${prefix}PORT: ${where} cannot be used, should be a free port of an address of this machine: ${message}`;
  // Another program may free the port, or the network may come up later.
  return new ConfigurationError([fault], code !== 'EACCES', { cause });
}

/** The addresses of the listeners. `getUrl` of Nest says 127.0.0.1 instead of 0.0.0.0. */
export function listenUrls(service: INestApplication): Readonly<{ public: string; management: string }> {
  const urlOf = (server: { address(): unknown }): string => {
    const { address, family, port } = server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  };
  return { public: urlOf(service.getHttpServer() as Server), management: urlOf(service.get(ManagementServer)) };
}

/** The fields of the log line about the start. */
export function describeStart(service: INestApplication, environment: ServiceEnvironment): Record<string, unknown> {
  const { description } = parseDatabaseUrl(environment.DATABASE_URL, environment.DATABASE_PASSWORD);
  const production = environment.NODE_ENV === 'production';
  return { node: process.version, ...listenUrls(service), database: description, production };
}
