import { configureApi } from '@app/api';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { exemptPlantsFromBodyParser } from 'plant-store';
import { GardenModule } from './garden.module.js';

/** The garden, complete but not listening. */
export async function createGarden(): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(GardenModule);
  // The one line that keeps our body parser off /api/v1/plants: the store reads those bodies itself, exactly.
  exemptPlantsFromBodyParser(app);
  configureApi(app);

  // Of the two bearer credentials, the store's is the document's `bearer`.
  const description = new DocumentBuilder()
    .setTitle('Garden')
    .addBearerAuth()
    .addBearerAuth({ type: 'http', bearerFormat: 'JWT' }, 'jwt')
    .build();
  SwaggerModule.setup('reference', app, () => SwaggerModule.createDocument(app, description));
  return app;
}
