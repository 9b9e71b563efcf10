import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  Module,
  type NestInterceptor,
  type PipeTransform,
  ValidationPipe,
  VersioningType,
} from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { map, type Observable } from 'rxjs';
import { AuthModule, BearerAuthGuard, exemptPlantsFromBodyParser, PlantsModule } from '../../src/index.js';
import type { BodyReading } from '../contract/describe-guest-contract.js';
import type { StartedTarget } from '../contract/running-target.js';
import type { Platform } from './platforms.js';
import { connectTo } from './store.js';
import { TOKEN } from './request.js';
import { createTestDatabase } from './test-database.js';

/** What a host may do to all answers of its own. */
class Wrap implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

/** What a host may do to all parameters of its routes. */
class Trim implements PipeTransform {
  transform(value: unknown): unknown {
    if (typeof value === 'string') return value.trim();
    if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) Reflect.set(value, key, this.transform(member));
    }
    return value;
  }
}

/** What a host may answer to every failure of its own. */
@Catch()
class Teapot implements ExceptionFilter {
  constructor(private readonly platform: HttpAdapterHost) {}

  catch(_exception: unknown, host: ArgumentsHost): void {
    this.platform.httpAdapter.reply(host.switchToHttp().getResponse(), { teapot: true }, 418);
  }
}

export interface HostOptions {
  platform: Platform;
  /** Who reads the bodies of the plant route; with `none` the host has no parser at all. */
  body: BodyReading | 'none';
}

/** A host that does with its own routes whatever a host may do, and mounts the store beside them. */
export async function startHost({ platform, body }: HostOptions): Promise<StartedTarget> {
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

  const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
    logger: false,
    abortOnError: false,
    rawBody: body === 'rawBody',
    ...(body === 'none' && { bodyParser: false }),
  });
  if (body === 'exempt') exemptPlantsFromBodyParser(app);
  // As much as Fastify's own parser takes.
  if (platform === 'express' && body !== 'none') app.useBodyParser('json', { limit: '1mb' });
  app.setGlobalPrefix('api');
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.useGlobalPipes(
    new Trim(),
    new ValidationPipe({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      validateCustomDecorators: true,
    }),
  );
  app.useGlobalInterceptors(new Wrap());
  app.useGlobalFilters(new Teapot(app.get(HttpAdapterHost)));
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return {
    ...connectTo(port, '/api/v1'),
    errorStatus: 'contract',
    database,
    stop: async () => {
      await app.close();
      await database.drop();
    },
  };
}
