import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { exemptPlantsFromBodyParser } from 'plant-store';
import { configureHost } from './configure-host.js';
import { createAdapter, HostModule } from './host.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.create(HostModule, createAdapter());
  exemptPlantsFromBodyParser(app);
  configureHost(app);
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().addBearerAuth().build());
  SwaggerModule.setup('docs', app, document, { ui: false, jsonDocumentUrl: 'docs.json' });
  app.enableShutdownHooks([], { useProcessExit: true });
  await app.listen(process.env.PORT ?? '3000', '127.0.0.1');
  console.log(`Listening on ${await app.getUrl()}`);
}

void main();
