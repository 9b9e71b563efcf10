import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule, type AppOptions } from './app/app.module.js';
import { closeTimeout } from './close-timeout.js';
import { ServiceLogger } from './app/service-logger.js';
import { corsFor } from './app/create-app.js';
import { createOpenApiDocument } from './http/openapi-document.js';
import { PlantStoreAdapter } from './http/server/express-adapter.js';
import { serveSwaggerUi } from './http/swagger-ui.js';

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
