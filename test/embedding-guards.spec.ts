import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  HttpException,
  Inject,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestInterceptor,
  type NestModule,
  RequestTimeoutException,
  Scope,
  ServiceUnavailableException,
  UnauthorizedException,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost, NestFactory, REQUEST, RouterModule } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { catchError, type Observable, throwError, timeout, TimeoutError } from 'rxjs';
import { exemptPlantsFromBodyParser, PlantsModule, type PlantsModuleExtras } from '../src/index.js';
import { TraceMiddleware } from './support/guest-host/trace.middleware.js';
import { PLATFORMS } from './support/platforms.js';
import { TableLock } from './support/table-lock.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const REFUSALS: Record<string, () => Error> = {
  unauthorized: () => new UnauthorizedException('Show the pass of this host.'),
  forbidden: () => new ForbiddenException('Gardeners only.'),
  rate: () => new HttpException('One plant a minute.', 429),
  conflict: () => new HttpException({ reasons: ['closed'], message: 'The garden is closed.' }, 423),
  down: () => new ServiceUnavailableException('The password of the token service is hunter2.'),
  broken: () => new TypeError('a fault of the guard'),
};

/** One for each request, with what it needs injected, as a host may have for a tenant. */
@Injectable({ scope: Scope.REQUEST })
class TenantGuard implements CanActivate {
  constructor(
    @Inject(REQUEST) private readonly request: { headers: Record<string, string> },
    private readonly platform: HttpAdapterHost,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { 'x-refuse': refusal = '' } = this.request.headers;
    // Where @nestjs/throttler has it: on the response, before it throws.
    if (refusal === 'rate')
      this.platform.httpAdapter.setHeader(context.switchToHttp().getResponse(), 'Retry-After', '60');
    const failure = REFUSALS[refusal]?.();
    if (failure !== undefined) throw failure;
    return refusal !== 'false';
  }
}

@Module({ providers: [TenantGuard], exports: [TenantGuard] })
class TenantModule {}

/** As Nest's documentation has it. */
class TimeoutInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const onTimeout = (error: unknown): Observable<never> =>
      throwError(() => (error instanceof TimeoutError ? new RequestTimeoutException() : error));
    return next.handle().pipe(timeout(1000), catchError(onTimeout));
  }
}

describe.each(PLATFORMS)('the plant route behind what a host has on %s', (platform) => {
  describe.each(['of the route', 'of the application'])('with guards %s', (place) => {
    let database: TestDatabase;
    let app: NestExpressApplication;
    let logged: unknown[];

    beforeAll(async () => {
      database = await createTestDatabase();
      const ofRoute = place === 'of the route';
      const guarded: PlantsModuleExtras = ofRoute
        ? { guards: [TenantGuard], imports: [TenantModule] }
        : { guards: 'global' };
      const store = PlantsModule.forRoot({ database: { url: database.url }, ...guarded });

      @Module({ imports: [store] })
      class GardenModule {}

      @Module({
        imports: [GardenModule, TenantModule, RouterModule.register([{ path: 'garden', module: PlantsModule }])],
        providers: [
          ...(ofRoute ? [] : [{ provide: APP_GUARD, useClass: TenantGuard }]),
          { provide: APP_INTERCEPTOR, useClass: TimeoutInterceptor },
        ],
      })
      class HostModule implements NestModule {
        // To Express, on this very path, a route.
        configure(consumer: MiddlewareConsumer): void {
          consumer.apply(TraceMiddleware).forRoutes('garden/plants');
        }
      }

      const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
      const error = (message: unknown): unknown => logged.push(message);
      const logger = { log: () => undefined, warn: error, error };
      app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, { logger, abortOnError: false });
      exemptPlantsFromBodyParser(app);
      logged = [];
      await app.listen(0, '127.0.0.1');
    });
    beforeEach(async () => {
      logged = [];
      await database.query('DELETE FROM plants');
    });
    afterAll(async () => {
      await app.close();
      await database.drop();
    });

    async function send(refusal = '', method = 'POST', body = '{"id": 9007199254740993, "name": "Rose"}') {
      const headers = { 'Content-Type': 'application/json', 'X-Refuse': refusal };
      const url = `${await app.getUrl()}/garden/plants`;
      const response = await fetch(url, { method, headers, body });
      return { status: response.status, headers: response.headers, body: await response.json() };
    }

    it('should create plants', async () => {
      const { status, headers, body } = await send();
      expect([status, headers.get('X-Trace'), body]).toEqual([200, expect.stringContaining('POST '), { name: 'Rose' }]);
      expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
      expect(await send('', 'PUT')).toMatchObject({ status: 400, body: { error: 40500 } });
    });

    it.each([
      ['unauthorized', 40100, 'Show the pass of this host.'],
      ['forbidden', 40300, 'Gardeners only.'],
      ['false', 40300, 'Forbidden resource'],
      ['rate', 42900, 'One plant a minute.'],
      ['conflict', 40010, 'The garden is closed.'],
    ])('should refuse in the form of the contract what is %s, before the body', async (refusal, error, message) => {
      for (const [method, body] of [['POST'], ['POST', 'not JSON'], ['DELETE']]) {
        expect(await send(refusal, method, body)).toMatchObject({ status: 400, body: { error, message } });
      }
      expect((await send('rate')).headers.get('Retry-After')).toBe('60');
      expect(logged).toEqual([]);
      expect(await database.query('SELECT id FROM plants')).toEqual([]);
    });

    it.each(['down', 'broken'])('should tell the log alone of a guard that is %s', async (refusal) => {
      const { status, headers, body } = await send(refusal);
      expect([status, body]).toMatchObject([400, { error: 50000 }]);
      expect(JSON.stringify(body)).not.toMatch(/hunter2|fault of the guard/);
      expect(headers.get('X-Request-Id')).toMatch(/^[\w-]{36}$/);
      expect(logged).toHaveLength(1);
    });

    it('should say that the outcome is unknown where an interceptor gives up waiting', async () => {
      await using lock = await TableLock.take(database);
      const answer = send();
      await lock.awaited();
      const { status, body } = await answer;
      expect([status, body]).toMatchObject([400, { error: 50400 }]);
      expect((body as { message: string }).message).toMatch('unknown');
    });
  });
});
