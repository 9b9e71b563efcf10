import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { AuthModule, BearerAuthGuard, exemptPlantsFromBodyParser, PlantsModule } from '../../../src/index.js';
import type { BodyReading } from '../../contract/describe-guest-contract.js';
import type { StartedTarget } from '../../contract/running-target.js';
import { configureHost } from '../../packed/host/src/configure-host.js';
import { createTestDatabase } from '../database/test-database.js';
import { TOKEN } from '../http/request.js';
import { connectTo, type Protocol } from '../service/store.js';
import { adapterOf } from './adapter.js';
import type { Platform } from './platforms.js';

export interface HostOptions {
  platform: Platform;
  /** Who reads the bodies of the plant route; with `none` the host has no parser at all. */
  body: BodyReading | 'none';
  /** HTTP/1.1 unless given. */
  protocol?: Protocol;
  /** Nest's option: replaces each instance that Nest creates. */
  instanceDecorator?: (instance: unknown) => unknown;
}

/** A host that does with its own routes whatever a host may do, and mounts the store beside them. */
export async function startHost({ platform, body, protocol, instanceDecorator }: HostOptions): Promise<StartedTarget> {
  const database = await createTestDatabase();

  @Module({
    imports: [
      PlantsModule.forRoot({
        database: { url: database.url },
        guards: [BearerAuthGuard],
        imports: [AuthModule.forRoot({ accessTokens: [TOKEN] })],
      }),
    ],
  })
  class HostModule {}

  const adapter = adapterOf(platform, protocol);
  const app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
    logger: false,
    abortOnError: false,
    rawBody: body === 'rawBody',
    ...(body === 'none' && { bodyParser: false }),
    ...(instanceDecorator && { instrument: { instanceDecorator } }),
  });
  if (body === 'exempt') exemptPlantsFromBodyParser(app);
  // As much as Fastify's own parser takes.
  if (platform === 'express' && body !== 'none') app.useBodyParser('json', { limit: '1mb' });
  configureHost(app);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return {
    ...connectTo(port, '/api/v1', protocol),
    errorStatus: 'contract',
    database,
    stop: async () => {
      await app.close();
      await database.drop();
    },
  };
}
