import { describe } from '@jest/globals';
import { ValidationPipe, VersioningType } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { map } from 'rxjs';
import { PlantsModule } from '../../src/index.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host, type Platform } from '../support/host/host.js';
import { connectTo, TOKEN } from '../support/http/request.js';
import { runningTarget, type StartedTarget } from './contract-target.js';
import { type BodyReading, describeGuestContract } from './describe-contract.js';

/** A host for the contract: its own routes do everything that a host may do, and it mounts the store too. */
async function startHost({ platform, body }: { platform: Platform; body: BodyReading }): Promise<StartedTarget> {
  const database = await createTestDatabase();
  const store = PlantsModule.forRoot({ database: { url: database.url }, ...guardedBy(TOKEN) });
  const trim = { transform: (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value) };
  const strict = { transform: true, whitelist: true, forbidNonWhitelisted: true, validateCustomDecorators: true };
  const prepare = (app: NestExpressApplication): void => {
    // As much as Fastify's own parser takes.
    if (platform === 'express' && body === 'rawBody') app.useBodyParser('json', { limit: '1mb' });
    app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    app.useGlobalPipes(trim, new ValidationPipe(strict));
    app.useGlobalInterceptors({ intercept: (_, next) => next.handle().pipe(map((data: unknown) => ({ data }))) });
    const { httpAdapter } = app.get(HttpAdapterHost);
    app.useGlobalFilters({
      catch: (error, host) => void httpAdapter.reply(host.switchToHttp().getResponse(), { teapot: String(error) }, 418),
    });
  };
  const host = await Host.start({ imports: [store] }, { platform, body, prepare });
  return {
    ...connectTo(host.port, '/api/v1'),
    errorStatus: 'contract',
    database,
    stop: async () => {
      await host.stop();
      await database.drop();
    },
  };
}

const HOSTS: { platform: Platform; body: BodyReading }[] = [
  { platform: 'express', body: 'store' },
  { platform: 'express', body: 'rawBody' },
  { platform: 'fastify', body: 'rawBody' },
];

describe.each(HOSTS)('POST /plants in a host on $platform with bodies $body', ({ platform, body }) => {
  const target = runningTarget(() => startHost({ platform, body }));
  describeGuestContract(target, body, platform);
});
