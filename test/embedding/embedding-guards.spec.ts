import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
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
  type ModuleMetadata,
  type NestInterceptor,
  type NestModule,
  RequestTimeoutException,
  Scope,
  ServiceUnavailableException,
  UnauthorizedException,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost, NestFactory, REQUEST, RouterModule } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { catchError, type Observable, throwError, timeout, TimeoutError } from 'rxjs';
import { exemptPlantsFromBodyParser, PlantsModule } from '../../src/index.js';
import type { PlantsGuards, PlantsModuleRouteOptions } from '../../src/plants/plants.options.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { adapterOf } from '../support/host/adapter.js';
import { TraceMiddleware } from '../support/host/trace.middleware.js';
import { PLATFORMS } from '../support/host/platforms.js';
import { rejectionOf } from '../support/rejection.js';

const REFUSALS: Record<string, () => Error> = {
  unauthorized: () => new UnauthorizedException('Show the pass of this host.'),
  negotiate: () => new UnauthorizedException('Show the ticket of this host.'),
  forbidden: () => new ForbiddenException('Gardeners only.'),
  rate: () => new HttpException('One plant a minute.', 429),
  busy: () => new HttpException('Too many plants.', 429),
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
    if (refusal === 'negotiate')
      this.platform.httpAdapter.setHeader(context.switchToHttp().getResponse(), 'WWW-Authenticate', 'Negotiate');
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
      const guarded: PlantsModuleRouteOptions = ofRoute
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

      const adapter = adapterOf(platform);
      const error = (message: unknown): unknown => logged.push(message);
      const logger = { log: () => undefined, warn: error, error };
      app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
        logger,
        abortOnError: false,
        rawBody: true,
      });
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

    async function send(refusal = '', body = '{"id": 9007199254740993, "name": "Rose"}') {
      const headers = { 'Content-Type': 'application/json', 'X-Refuse': refusal };
      const response = await fetch(`${await app.getUrl()}/garden/plants`, { method: 'POST', headers, body });
      return { status: response.status, headers: response.headers, body: await response.json() };
    }

    it('should create plants', async () => {
      const { status, headers, body } = await send();
      expect([status, headers.get('X-Trace'), body]).toEqual([200, expect.stringContaining('POST '), { name: 'Rose' }]);
      expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
    });

    it.each([
      ['unauthorized', 40100, 'Show the pass of this host.'],
      ['forbidden', 40300, 'Gardeners only.'],
      ['false', 40300, 'Forbidden resource'],
      ['rate', 50301, 'One plant a minute.'],
      ['busy', 50301, 'Too many plants.'],
      ['conflict', 40010, 'The garden is closed.'],
    ])('should refuse in the form of the contract what is %s, before the body', async (refusal, error, message) => {
      expect(await send(refusal)).toMatchObject({ status: 400, body: { error, message } });
      expect(await send(refusal, 'not JSON')).toMatchObject({ status: 400, body: { error, message } });
      expect((await send('rate')).headers.get('Retry-After')).toBe('60');
      expect((await send('busy')).headers.get('Retry-After')).toBe('1');
      expect(logged).toEqual([]);
      expect(await database.query('SELECT id FROM plants')).toEqual([]);
    });

    it.each([
      ['unauthorized', 'Bearer realm="plants"'],
      ['negotiate', 'Negotiate'],
      ['forbidden', null],
      ['false', null],
    ])('should have the challenge with what is %s, unless the guard has its own', async (refusal, challenge) => {
      expect((await send(refusal)).headers.get('WWW-Authenticate')).toBe(challenge);
    });

    it.each(['down', 'broken'])('should tell the log alone of a guard that is %s', async (refusal) => {
      const { status, headers, body } = await send(refusal);
      expect([status, body]).toMatchObject([400, { error: 50000 }]);
      expect(JSON.stringify(body)).not.toMatch(/hunter2|fault of the guard/);
      expect(headers.get('X-Request-Id')).toMatch(/^[\w-]{36}$/);
      expect(logged).toHaveLength(1);
    });

    it('should say that the outcome is unknown if an interceptor gives up waiting', async () => {
      await using lock = await TableLock.take(database);
      const answer = send();
      await lock.awaited();
      const { status, body } = await answer;
      expect([status, body]).toMatchObject([400, { error: 50400 }]);
      expect((body as { message: string }).message).toMatch('unknown');
    });
  });
});

class LetEverybodyIn implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

/** A guard as Nest's documentation has it: the host gives it to `useGlobalGuards()`. */
class LetNobodyIn implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

describe.each(PLATFORMS)('the guards of a store, on %s,', (platform) => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let logged: { level: string; message: string }[];

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    await database.query('DELETE FROM plants');
  });
  afterAll(() => database.drop());

  async function start(
    guards: PlantsGuards,
    metadata: ModuleMetadata = {},
    configure: (application: NestExpressApplication) => unknown = () => undefined,
  ): Promise<void> {
    const stores = ['plants', '/garden/trees/'].map((path) =>
      PlantsModule.forRoot({ database: { url: database.url }, guards, path }),
    );
    @Module({ ...metadata, imports: stores })
    class HostModule {}
    logged = [];
    const log = (level: string) => (message: unknown) => logged.push({ level, message: String(message) });
    const logger = { log: log('log'), warn: log('warn'), error: log('error') };
    const adapter = adapterOf(platform);
    app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
      logger,
      abortOnError: false,
      rawBody: true,
    });
    configure(app);
    await app.listen(0, '127.0.0.1');
  }

  async function create(): Promise<unknown> {
    const headers = { 'Content-Type': 'application/json' };
    const init = { method: 'POST', headers, body: '{"id": 1, "name": "Rose"}' };
    const response = await fetch(`${await app.getUrl()}/plants`, init);
    return response.json();
  }

  const messages = (level: string): string[] =>
    logged.filter((entry) => entry.level === level).map(({ message }) => message);

  it.each<[string, ModuleMetadata]>([
    ['none', {}],
    ['one whose factory returned nothing', { providers: [{ provide: APP_GUARD, useFactory: () => undefined }] }],
  ])("should be refused at the start if they are 'global', and the application has %s", async (_, metadata) => {
    const failure = (await rejectionOf(start('global', metadata))) as Error;
    expect(failure.message.split('\n')).toEqual([
      'The options of PlantsModule cannot be used:',
      expect.stringMatching(
        /^guards: is 'global', but the application has no global guard, should be an array .* APP_GUARD .*useGlobalGuards\(\)/,
      ),
    ]);
  });

  it.each<[string, ModuleMetadata, (application: NestExpressApplication) => unknown]>([
    ['useGlobalGuards()', {}, (application) => application.useGlobalGuards(new LetNobodyIn())],
    ['APP_GUARD', { providers: [{ provide: APP_GUARD, useClass: LetNobodyIn }] }, () => undefined],
    [
      'APP_GUARD for each request',
      { providers: [{ provide: APP_GUARD, useClass: LetNobodyIn, scope: Scope.REQUEST }] },
      () => undefined,
    ],
  ])("should be those of the application if they are 'global', from %s", async (_, metadata, configure) => {
    await start('global', metadata, configure);
    expect(await create()).toMatchObject({ error: 40300 });
    expect(messages('warn')).toEqual([]);
  });

  it("should come with one warning for each route if they are 'none'", async () => {
    await start('none');
    expect(await create()).toEqual({ name: 'Rose' });
    expect(messages('warn')).toEqual([
      expect.stringMatching(/^guards is 'none': everybody may create plants at the path "plants", unless/),
      expect.stringMatching(/^guards is 'none': everybody may create plants at the path "\/garden\/trees\/", unless/),
    ]);
  });

  it('should be mapped as one route each, without a warning', async () => {
    await start([LetEverybodyIn]);
    expect(messages('log').filter((message) => /^Mapped|Controller/.test(message))).toEqual([
      'PlantsController {/plants}:',
      'Mapped {/plants, POST} route',
      'PlantsController {/garden/trees}:',
      'Mapped {/garden/trees, POST} route',
    ]);
    expect(messages('warn')).toEqual([]);
    expect(await create()).toEqual({ name: 'Rose' });
  });
});
