import { describe } from '@jest/globals';
import { ValidationPipe, VersioningType } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type OutgoingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { map } from 'rxjs';
import { PlantsModule } from '../../src/index.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host, type Platform } from '../support/host/host.js';
import { connectTo, type RawResponse, TOKEN } from '../support/http/request.js';
import { startStore } from '../support/service/store.js';
import { describeBodySize } from './bodies.js';
import { runningTarget, type StartedTarget } from './contract-target.js';
import { type BodyReading, describeGuestContract } from './describe-contract.js';
import { describeFields, describeIdentifiers, describeNamesAndTags, describeTakenIds } from './plants.js';

describe('POST /plants with the largest limit of bodies', () => {
  describeBodySize(
    runningTarget(() => startStore({ BODY_LIMIT: '1048576' })),
    1_048_576,
  );
});

/** A host for the contract: it does with its own routes everything that a host may do, and mounts the store in addition. */
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

const POST = { ':method': 'POST', ':path': '/plants', 'content-type': 'application/json' };
/** A key and its certificate, which nobody has signed. */
const SELF_SIGNED = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout - -out -';

describe('POST /plants in a host on Fastify with HTTP/2 and TLS', () => {
  const target = runningTarget(async () => {
    const database = await createTestDatabase();
    const { stdout: pem } = await promisify(execFile)('openssl', SELF_SIGNED.split(' '));
    const store = PlantsModule.forRoot({ database: { url: database.url }, ...guardedBy(TOKEN) });
    const http2 = { http2: true, https: { key: pem, cert: pem } };
    const host = await Host.start({ imports: [store] }, { platform: 'fastify', http2 });
    // What waits to be sent counts, in megabytes.
    const session = connect(`https://127.0.0.1:${host.port}`, { rejectUnauthorized: false, maxSessionMemory: 200 });
    const post = async (body: string | Buffer, others: OutgoingHttpHeaders = {}): Promise<RawResponse> => {
      const stream = session.request({ ...POST, authorization: `Bearer ${TOKEN}`, ...others });
      stream.end(body);
      const [received] = (await once(stream, 'response')) as [Record<string, string>];
      return { status: Number(received[':status']), headers: received, body: await text(stream) };
    };
    const stop = async (): Promise<void> => {
      session.destroy();
      await host.stop();
      await database.drop();
    };
    return { ...connectTo(host.port, ''), errorStatus: 'contract', database, post, stop };
  });

  describeIdentifiers(target);
  describeNamesAndTags(target);
  describeFields(target, false);
  describeTakenIds(target);
});
