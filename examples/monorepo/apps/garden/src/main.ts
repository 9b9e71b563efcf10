import { ValidationPipe, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { GardenModule } from './garden.module.js';

/** For the test. The store reads the bytes of a body, so that ids are exact: rawBody keeps them. */
export const app = await NestFactory.create(GardenModule, { rawBody: true });
app.setGlobalPrefix('api');
app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
// The process ends with code 0 once everything is closed.
app.enableShutdownHooks([], { useProcessExit: true });

// Of the two bearer credentials, the store's is the document's `bearer`.
const description = new DocumentBuilder()
  .setTitle('Garden')
  .addBearerAuth()
  .addBearerAuth({ type: 'http', bearerFormat: 'JWT' }, 'jwt')
  .build();
SwaggerModule.setup('reference', app, () => SwaggerModule.createDocument(app, description));

await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
