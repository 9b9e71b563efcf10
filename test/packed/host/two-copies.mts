import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { createRequire } from 'node:module';
import { ApiError, PlantsModule } from 'plant-store';

const { DATABASE_URL = '', ACCESS_TOKEN = '', PORT = '3000' } = process.env;
// What a library in CommonJS gets. Its classes are others than those of `import`.
const required = createRequire(import.meta.url)('plant-store') as typeof import('plant-store');
if (required.ApiError === ApiError) throw new Error('There is one copy.');
if (!(new required.ApiError(40400, 'Text') instanceof ApiError)) throw new Error('ApiError is not an ApiError.');
if (!(new ApiError(40400, 'Text') instanceof required.ApiError)) throw new Error('ApiError is not an ApiError.');

@Module({
  imports: [
    PlantsModule.forRoot({
      database: { url: DATABASE_URL },
      guards: [required.BearerAuthGuard],
      imports: [required.PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN] })],
    }),
  ],
})
class HostModule {}

const app = await NestFactory.create(HostModule, new FastifyAdapter(), { rawBody: true });
app.setGlobalPrefix('api').enableShutdownHooks([], { useProcessExit: true });
await app.listen(PORT, '127.0.0.1');
console.log(`Listening on ${await app.getUrl()}`);
