import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { BearerAuthGuard, exemptPlantsFromBodyParser, PlantsAuthModule, PlantsModule } from '../../../src/index.js';
import type { BodyReading } from '../../contract/describe-contract.js';
import type { StartedTarget } from '../../contract/contract-target.js';
import { configureHost } from '../../packed/host/src/configure-host.js';
import { createTestDatabase } from '../database/test-database.js';
import { Http2Bridge } from '../http/http2-bridge.js';
import { TOKEN } from '../http/request.js';
import { connectTo } from '../service/store.js';
import { adapterOf } from './adapter.js';
import type { Platform } from './platforms.js';

export interface HostOptions {
  platform: Platform;
  /** Who reads the bodies of the plant route; with `none` the host has no parser at all. */
  body: BodyReading | 'none';
  /** Options of Fastify for HTTP/2, which the target then speaks. */
  http2?: object;
}

/** A host that does with its own routes everything that a host may do, and mounts the store in addition. */
export async function startHost({ platform, body, http2 }: HostOptions): Promise<StartedTarget> {
  const database = await createTestDatabase();

  @Module({
    imports: [
      PlantsModule.forRoot({
        database: { url: database.url },
        guards: [BearerAuthGuard],
        imports: [PlantsAuthModule.forRoot({ accessTokens: [TOKEN] })],
      }),
    ],
  })
  class HostModule {}

  const adapter = http2 ? new FastifyAdapter(http2) : adapterOf(platform);
  const app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
    logger: false,
    abortOnError: false,
    rawBody: body === 'rawBody',
    ...(body === 'none' && { bodyParser: false }),
  });
  if (body === 'exempt') exemptPlantsFromBodyParser(app);
  // As much as Fastify's own parser takes.
  if (platform === 'express' && body !== 'none') app.useBodyParser('json', { limit: '1mb' });
  configureHost(app);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const bridge = http2 && (await Http2Bridge.start(await app.getUrl()));
  return {
    ...connectTo(bridge?.port ?? port, '/api/v1'),
    errorStatus: 'contract',
    database,
    stop: async () => {
      await bridge?.stop();
      await app.close();
      await database.drop();
    },
  };
}
