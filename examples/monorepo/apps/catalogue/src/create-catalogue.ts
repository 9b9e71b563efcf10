import { configureApi } from '@app/api';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { CatalogueModule } from './catalogue.module.js';

/** The catalogue, complete but not listening. */
export async function createCatalogue(): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(CatalogueModule, new FastifyAdapter());
  configureApi(app);
  return app;
}
