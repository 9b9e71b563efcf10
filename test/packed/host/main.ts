import { Module, ValidationPipe, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';
import { map } from 'rxjs';

const { DATABASE_URL = '', ACCESS_TOKEN = '', PLATFORM, PORT = '3000' } = process.env;
const database = { url: DATABASE_URL };

@Module({
  imports: [
    PlantsModule.forRootAsync({
      useFactory: () => ({ database }),
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN], issuedTokens: database })],
    }),
  ],
})
class HostModule {}

async function main(): Promise<void> {
  const app = await (PLATFORM === 'fastify'
    ? NestFactory.create(HostModule, new FastifyAdapter(), { rawBody: true })
    : NestFactory.create(HostModule, { rawBody: true }));
  // Of itself, Express reads bodies of 100 kB, and Fastify those of 1 MiB. The types of Express need not be installed.
  if (PLATFORM !== 'fastify')
    (app as unknown as { useBodyParser(type: string, options: object): void }).useBodyParser('json', { limit: '1mb' });
  app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
  app.useGlobalInterceptors({ intercept: (_, next) => next.handle().pipe(map((data: unknown) => ({ data }))) });
  app.useGlobalFilters({ catch: (error, host) => host.switchToHttp().getResponse().status(418).send(String(error)) });
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().addBearerAuth().build());
  SwaggerModule.setup('docs', app, document, { ui: false, jsonDocumentUrl: 'docs.json' });
  app.enableShutdownHooks([], { useProcessExit: true });
  await app.listen(PORT, '127.0.0.1');
  console.log(`Listening on ${await app.getUrl()}`);
}

void main();
