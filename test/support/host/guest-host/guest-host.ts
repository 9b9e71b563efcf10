import {
  type DynamicModule,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  ValidationPipe,
  VersioningType,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { AddressInfo } from 'node:net';
import { AuthModule, BearerAuthGuard, exemptPlantsFromBodyParser, PlantsModule } from '../../../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../../database/test-database.js';
import { TOKEN } from '../../http/request.js';
import { adapterOf } from '../adapter.js';
import type { Platform } from '../platforms.js';
import { AccountsController } from './accounts.controller.js';
import { ApiKeyGuard } from './api-key.guard.js';
import { BodiesController } from './bodies.controller.js';
import { EnvelopeInterceptor } from './envelope.interceptor.js';
import { GreetingsController } from './greetings.controller.js';
import { HostBearerStrategy } from './host-bearer.strategy.js';
import { type HostPrisma, ORDERS } from './host-prisma.js';
import { HostStorage } from './host-storage.js';
import { Lifecycle } from './lifecycle.js';
import { OrdersController } from './orders.controller.js';
import { ProblemFilter } from './problem.filter.js';
import { RecordingLogger } from './recording.logger.js';
import { TraceMiddleware } from './trace.middleware.js';

export interface GuestHostOptions {
  platform: Platform;
  rawBody: boolean;
  /** Whether the host mounts the store: before its own modules or after them, and off its body parser or not. */
  store: 'none' | 'first' | 'last' | 'exempt';
  prisma: HostPrisma;
}

/** A running host that uses everything that Nest offers a host for itself. */
export interface GuestHost {
  readonly port: number;
  readonly logger: RecordingLogger;
  readonly database: TestDatabase;
  describe(): OpenAPIObject;
  close(): Promise<void>;
}

export async function startGuestHost({ platform, rawBody, store, prisma }: GuestHostOptions): Promise<GuestHost> {
  const database = await createTestDatabase();
  await database.query(ORDERS);
  const logger = new RecordingLogger();
  const own = [hostModule(database.url, prisma)];
  const guest = store === 'none' ? [] : [storeModule(database.url)];

  @Module({ imports: store === 'last' ? [...own, ...guest] : [...guest, ...own] })
  class RootModule {}

  const adapter = adapterOf(platform);
  const app = await NestFactory.create<NestExpressApplication & NestFastifyApplication>(RootModule, adapter, {
    logger,
    abortOnError: false,
    rawBody,
  });
  if (store === 'exempt') exemptPlantsFromBodyParser(app);
  const type = platform === 'express' ? 'text' : 'text/plain';
  app.useBodyParser(type as never);
  if (platform === 'express') app.useBodyParser('raw' as never);
  app.setGlobalPrefix('api', { exclude: ['health'] });
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
  app.enableCors({ origin: 'https://pages.example', credentials: true, maxAge: 60 });
  app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
  app.enableShutdownHooks();
  const describe = (): OpenAPIObject =>
    SwaggerModule.createDocument(app, new DocumentBuilder().setTitle('Host').addBearerAuth().addTag('host').build());
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { port, logger, database, describe, close: () => app.close() };
}

function storeModule(url: string): DynamicModule {
  return PlantsModule.forRoot({
    database: { url },
    guards: [BearerAuthGuard],
    imports: [AuthModule.forRoot({ accessTokens: [TOKEN] })],
    openApi: { namePrefix: 'Store' },
  });
}

function hostModule(url: string, prisma: HostPrisma): DynamicModule {
  @Module({
    controllers: [OrdersController],
    providers: [
      { provide: HostStorage, useFactory: () => new HostStorage(url, prisma) },
      { provide: Lifecycle, useFactory: () => new Lifecycle('orders') },
    ],
  })
  class OrdersModule {}

  @Module({
    imports: [OrdersModule],
    controllers: [BodiesController, AccountsController, GreetingsController],
    providers: [
      HostBearerStrategy,
      { provide: Lifecycle, useFactory: () => new Lifecycle('host') },
      { provide: APP_GUARD, useClass: ApiKeyGuard },
      { provide: APP_INTERCEPTOR, useClass: EnvelopeInterceptor },
      { provide: APP_FILTER, useClass: ProblemFilter },
    ],
  })
  class HostModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(TraceMiddleware).forRoutes('*path');
    }
  }
  return { module: HostModule };
}
