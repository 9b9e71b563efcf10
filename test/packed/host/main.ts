import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { exemptPlantsFromBodyParser } from 'plant-store';
import { configureHost } from './configure-host.js';
import { HostModule } from './host.module.js';

const { PLATFORM, BODY, PORT = '3000' } = process.env;

// One source for all hosts: as an ECMAScript or a CommonJS module, by the package.json beside it; on Express or Fastify; with
// the bodies of the plant route read by the store, or by the host, which keeps their bytes or does not.
async function main(): Promise<void> {
  const adapter = PLATFORM === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
  const app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
    logger: ['error', 'warn'],
    rawBody: BODY === 'rawBody',
  });
  if (BODY === 'exempt') exemptPlantsFromBodyParser(app);
  // As much as Fastify's own parser takes.
  if (PLATFORM === 'express') app.useBodyParser('json', { limit: '1mb' });
  configureHost(app);
  app.enableShutdownHooks([], { useProcessExit: true });
  await app.listen(PORT, '127.0.0.1');
  console.log(`Listening on ${await app.getUrl()}`);
}

void main();
