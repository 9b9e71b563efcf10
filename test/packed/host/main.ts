import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { exemptPlantsFromBodyParser } from 'plant-store';
import { ADAPTERS } from './adapters.js';
import { configureHost } from './configure-host.js';
import { HostModule } from './host.module.js';

const { PLATFORM = '', PORT = '3000' } = process.env;

async function main(): Promise<void> {
  const app = await NestFactory.create(HostModule, ADAPTERS[PLATFORM](), { logger: ['error', 'warn'] });
  exemptPlantsFromBodyParser(app);
  configureHost(app);
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().addBearerAuth().build());
  SwaggerModule.setup('docs', app, document, { ui: false, jsonDocumentUrl: 'docs.json' });
  app.enableShutdownHooks([], { useProcessExit: true });
  await app.listen(PORT, '127.0.0.1');
  console.log(`Listening on ${await app.getUrl()}`);
}

void main();
