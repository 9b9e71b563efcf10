import type { CorsOptions, CorsOptionsDelegate } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import type { IncomingMessage } from 'node:http';
import type { Environment } from './config.js';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule, type AppOptions } from './app.module.js';
import { ServiceLogger } from './service-logger.js';
import { createOpenApiDocument } from '../http/openapi.js';
import { PlantStoreAdapter } from '../http/server/express-adapter.js';
import { serveSwaggerUi } from '../http/swagger-ui.js';
import { setFlagsFromString } from 'node:v8';
import { listenError } from './config-error.js';

/** Lets pages of these origins call the service. An OPTIONS request that is no preflight stays a method like any other. */
function corsFor(origins: string[]): CorsOptionsDelegate<IncomingMessage> {
  const options: CorsOptions = {
    origin: origins,
    methods: ['POST'],
    allowedHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key', 'X-Request-Id'],
    exposedHeaders: [
      'Allow',
      'RateLimit-Limit',
      'RateLimit-Policy',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Retry-After',
      'WWW-Authenticate',
      'X-Request-Id',
    ],
    maxAge: 600,
  };
  return (request, callback) => {
    const preflight = request.headers['access-control-request-method'] !== undefined;
    callback(null, { ...options, preflightContinue: !preflight });
  };
}

/** Milliseconds to wait at the end for the answers to requests under way: one arrives, waits for the database, and is answered. */
export function closeTimeout({ requestTimeout, storageTimeout }: Environment): number {
  return requestTimeout + 2 * storageTimeout;
}

/** The standalone application, complete but not listening. */
export async function createApp(options: AppOptions): Promise<NestExpressApplication> {
  const { errorStatus, requestTimeout } = options;
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(options),
    new PlantStoreAdapter({ errorStatus, requestTimeout, closeTimeout: closeTimeout(options) }),
    // The plant route reads its body itself, after the guard.
    { bodyParser: false, abortOnError: false, logger: new ServiceLogger(options) },
  );
  app.set('trust proxy', options.trustProxy);
  if (options.corsOrigins.length > 0) app.enableCors(corsFor(options.corsOrigins));
  if (options.docs) serveSwaggerUi(app, createOpenApiDocument(app, options));
  return app;
}

/** The standalone application, listening. Rejects with what is wrong with the configuration, the database or the port. */
export async function startApp(options: AppOptions): Promise<NestExpressApplication> {
  // V8 allocates for good, in the old generation, what it has often seen survive: here, what every request makes that waits for
  // the storage, and is garbage a moment later. A full collection of that costs far more memory and time than many small ones.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // And it lets the heap grow fourfold before it collects it: of a small one, far more than a collection costs.
  setFlagsFromString('--heap-growing-percent=60');
  const { host, port } = options;
  const app = await createApp(options);
  try {
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw listenError(error, { host: 'HOST', port: 'PORT' }, { host, port });
  }
  return app;
}
