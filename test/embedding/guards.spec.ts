import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  HttpException,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  type NestInterceptor,
  RequestTimeoutException,
  Scope,
  UnauthorizedException,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost, REQUEST } from '@nestjs/core';
import { catchError, type Observable, throwError, timeout } from 'rxjs';
import { PlantsModule, type PlantsModuleOptions } from '../../src/index.js';
import { TableLock } from '../support/database/test-database.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Host, type HostSettings, PLATFORMS } from '../support/host/host.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';
const REFUSALS: Record<string, () => Error> = {
  unauthorized: () => new UnauthorizedException('Show the pass of this host.'),
  negotiate: () => new UnauthorizedException('Show the ticket of this host.'),
  forbidden: () => new ForbiddenException('Gardeners only.'),
  rate: () => new HttpException('One plant a minute.', 429),
  busy: () => new HttpException('Too many plants.', 429),
  locked: () => new HttpException({ reasons: ['closed'], message: 'The garden is closed.' }, 423),
  broken: () => new TypeError('the password of the token service is hunter2'),
};
/** Where @nestjs/throttler has it: on the response, before it throws. */
const HEADERS: Record<string, [string, string]> = {
  rate: ['Retry-After', '60'],
  negotiate: ['WWW-Authenticate', 'Negotiate'],
};

/** One for each request, with what it needs injected, as a host may have for a tenant. */
@Injectable({ scope: Scope.REQUEST })
class TenantGuard implements CanActivate {
  constructor(
    @Inject(REQUEST) private readonly request: { headers: Record<string, string>; user?: object },
    private readonly platform: HttpAdapterHost,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const refusal = this.request.headers['x-refuse'] ?? '';
    const header = HEADERS[refusal];
    if (header) this.platform.httpAdapter.setHeader(context.switchToHttp().getResponse(), ...header);
    const failure = REFUSALS[refusal]?.();
    if (failure !== undefined) throw failure;
    this.request.user = { login: 'alice' };
    return refusal !== 'false';
  }
}

@Module({ providers: [TenantGuard], exports: [TenantGuard] })
class TenantModule {}

/** As Nest's documentation has it. */
class TimeoutInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      timeout(1000),
      catchError(() => throwError(() => new RequestTimeoutException())),
    );
  }
}

class ClosedGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(() => database.query('TRUNCATE plants'));
afterAll(() => database.drop());

function start(
  options: Pick<PlantsModuleOptions, 'guards' | 'imports' | 'createdBy'>,
  metadata: ModuleMetadata,
  settings: HostSettings = {},
): Promise<Host> {
  const store = PlantsModule.forRoot({ database: { url: database.url }, ...options } as PlantsModuleOptions);
  return Host.start({ ...metadata, imports: [store] }, settings);
}

describe.each(PLATFORMS)('a guard of the host in front of the store on %s', (platform) => {
  let host: Host;

  beforeAll(async () => {
    const createdBy = ({ user }: { user: { login: string } }): { name: string } => ({ name: user.login });
    const options = { guards: [TenantGuard] as const, imports: [TenantModule], createdBy };
    const providers = [{ provide: APP_INTERCEPTOR, useClass: TimeoutInterceptor }];
    host = await start(options, { providers }, { platform });
  });
  beforeEach(() => {
    host.logger.entries.length = 0;
  });
  afterAll(() => host.stop());

  const send = (refusal: string, body = PLANT) => host.send('POST', '/plants', body, { 'X-Refuse': refusal });

  it('should let plants pass, with the creator that the host names', async () => {
    expect(await send('')).toMatchObject({ status: 200, body: { name: 'Rose' } });
    const stored = await database.query('SELECT id, created_by FROM plants');
    expect(stored).toEqual([{ id: '9007199254740993', created_by: 'alice' }]);
  });

  it.each([
    ['unauthorized', 40100, 'Show the pass of this host.', { 'www-authenticate': 'Bearer realm="plants"' }],
    ['negotiate', 40100, 'Show the ticket of this host.', { 'www-authenticate': 'Negotiate' }],
    ['forbidden', 40300, 'Gardeners only.', {}],
    ['false', 40300, 'Forbidden resource', {}],
    ['rate', 50301, 'One plant a minute.', { 'retry-after': '60' }],
    ['busy', 50301, 'Too many plants.', { 'retry-after': '1' }],
    ['locked', 40010, 'The garden is closed.', {}],
  ])('should refuse in the form of the contract what is %s, before the body', async (refusal, error, message, told) => {
    for (const body of [PLANT, 'not JSON']) {
      const answer = await send(refusal, body);
      expect(answer).toMatchObject({ status: 400, body: { error, message } });
      const headers = [...answer.headers].filter(([name]) => /^(?:www-authenticate|retry-after)$/.test(name));
      expect(Object.fromEntries(headers)).toEqual(told);
    }
    expect(host.logger.messages('error')).toEqual([]);
    expect(await database.query('SELECT FROM plants')).toEqual([]);
  });

  it('should tell the log alone why it is broken', async () => {
    const { status, body } = await send('broken');
    expect([status, body.error]).toEqual([400, 50000]);
    expect(JSON.stringify(body)).not.toContain('hunter2');
    expect(host.logger.messages('error')).toHaveLength(1);
  });

  it('should get 50400 for what an interceptor of the host gives up waiting for', async () => {
    await using lock = await TableLock.take(database);
    const answer = send('');
    await lock.awaited();
    expect(await answer).toMatchObject({
      body: { error: 50400, message: expect.stringContaining('unknown') as unknown },
    });
  });
});

describe.each(PLATFORMS)('what the option `guards` says besides guards of the route on %s', (platform) => {
  let host: Host | undefined;

  afterEach(async () => {
    await host?.stop();
    host = undefined;
  });

  it("should be refused at the start if it is 'global', and the application has no global guard", async () => {
    await expect(start({ guards: 'global' }, {}, { platform })).rejects.toThrow(
      /^The options of PlantsModule cannot be used:\nguards: is 'global', but the application has no global guard/,
    );
  });

  it.each<[string, ModuleMetadata, HostSettings]>([
    ['useGlobalGuards()', {}, { prepare: (app) => app.useGlobalGuards(new ClosedGuard()) }],
    ['APP_GUARD', { providers: [{ provide: APP_GUARD, useClass: ClosedGuard, scope: Scope.REQUEST }] }, {}],
  ])("should be the guards of the application if it is 'global', from %s", async (_, metadata, settings) => {
    host = await start({ guards: 'global' }, metadata, { ...settings, platform });
    expect((await host.send('POST', '/plants', PLANT)).body).toMatchObject({ error: 40300 });
    expect(host.logger.messages('warn')).toEqual([]);
  });

  it("should come with a warning if it is 'none'", async () => {
    host = await start({ guards: 'none' }, {}, { platform });
    expect((await host.send('POST', '/plants', PLANT)).status).toBe(200);
    expect(host.logger.messages('warn')).toEqual([
      expect.stringMatching(/^guards is 'none': everybody may create plants at the path "plants", unless/),
    ]);
  });
});
