import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { exemptPlantsFromBodyParser } from 'plant-store';
import { AppModule } from './app.module.js';
import { configureHost } from './configure-host.js';

const { PLATFORM, BODY, PORT = '3000', PROTOCOL, STORE } = process.env;

// One source for all hosts: on Express or Fastify; with the bodies of the plant route read by the store, or by the host, which
// keeps their bytes; and with `STORE=no` as the host would be if it had never heard of the store.
async function bootstrap(): Promise<void> {
  // The type of an adapter is that of HTTP/1, and a server of HTTP/2 works all the same.
  const fastify = () => new FastifyAdapter(PROTOCOL === 'h2c' ? ({ http2: true } as object) : {});
  const adapter = PLATFORM === 'fastify' ? fastify() : new ExpressAdapter();
  const app = await NestFactory.create<NestExpressApplication>(AppModule, adapter, {
    logger: ['error', 'warn'],
    rawBody: BODY === 'rawBody',
  });
  if (BODY === 'exempt' && STORE !== 'no') exemptPlantsFromBodyParser(app);
  // As much as Fastify's own parser takes.
  if (PLATFORM === 'express') app.useBodyParser('json', { limit: '1mb' });
  configureHost(app);
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().addBearerAuth().build());
  SwaggerModule.setup('docs', app, document, { ui: false, jsonDocumentUrl: 'docs.json' });
  app.enableShutdownHooks([], { useProcessExit: true });
  await app.listen(PORT, '127.0.0.1');
  console.log(`Listening on ${await app.getUrl()}`);
}

void bootstrap();
