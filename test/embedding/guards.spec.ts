import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  type CallHandler,
  type CanActivate,
  Controller,
  type DynamicModule,
  type ExecutionContext,
  ForbiddenException,
  Get,
  HttpException,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  Post,
  RequestTimeoutException,
  Scope,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost, REQUEST } from '@nestjs/core';
import { catchError, type Observable, throwError, timeout } from 'rxjs';
import {
  ApiExceptionFilter,
  BearerAuthGuard,
  PlantsAuthModule,
  PlantsModule,
  type PlantsModuleOptions,
  PlantsService,
  type Principal,
  RequireScopes,
  TokenVerifier,
} from '../../src/index.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { Host, PLATFORMS } from '../support/host/host.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';
const LACKS_CREATE = 'Bearer realm="plants", error="insufficient_scope", scope="plants:create"';
const LACKS_READ = 'Bearer realm="plants", error="insufficient_scope", scope="read"';

/** A host's own way to tell what a token is worth: its name, and its scopes after tildes. A token has no colon. */
class TellingVerifier extends TokenVerifier {
  verify(token: string): Promise<Principal | undefined> {
    if (token === 'away') return Promise.reject(new Error('the sessions are away'));
    const [name = '', ...scopes] = token.split('~');
    const principal = { name, scopes: scopes.map((scope) => scope.replace('.', ':')) };
    return Promise.resolve(name === 'nobody' ? undefined : principal);
  }
}

@Controller('orders')
@UseGuards(BearerAuthGuard)
@RequireScopes('read')
class OrdersController {
  constructor(private readonly plants: PlantsService) {}

  @Get()
  @UseFilters(new ApiExceptionFilter('semantic'))
  find(): object {
    return {};
  }

  @Post()
  @RequireScopes('list')
  @RequireScopes('write', 'write')
  async create(@Body() { name }: { name: string }): Promise<object> {
    return this.plants.create({ id: 1n, name });
  }
}

const REFUSALS: Record<string, () => Error> = {
  unauthorized: () => new UnauthorizedException('Show the pass of this host.'),
  forbidden: () => new ForbiddenException('Gardeners only.'),
  rate: () => new HttpException('One plant a minute.', 429),
  locked: () => new HttpException({ reasons: ['closed'], message: 'The garden is closed.' }, 423),
  broken: () => new TypeError('the password of the token service is hunter2'),
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
    // Where @nestjs/throttler has it: on the response, before it throws.
    if (refusal === 'rate')
      this.platform.httpAdapter.setHeader(context.switchToHttp().getResponse(), 'Retry-After', '60');
    const failure = REFUSALS[refusal]?.();
    if (failure !== undefined) throw failure;
    this.request.user = { login: 'alice' };
    return refusal !== 'false';
  }
}

@Module({ providers: [TenantGuard], exports: [TenantGuard] })
class TenantModule {}

/** As Nest's documentation has it, for clients that ask for it: a busy machine may need longer for a create. */
class TimeoutInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['x-refuse'] !== 'late') return next.handle();
    return next.handle().pipe(
      timeout(1000),
      catchError(() => throwError(() => new RequestTimeoutException())),
    );
  }
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(() => database.query('TRUNCATE plants'));
afterAll(() => database.drop());

const storeWith = (options: Partial<PlantsModuleOptions>): DynamicModule =>
  PlantsModule.forRoot({ database: { url: database.url }, ...options } as PlantsModuleOptions);
describe.each(PLATFORMS)('in a host on %s', (platform) => {
  let host: Host;

  beforeAll(async () => {
    const auth = PlantsAuthModule.forRootAsync({ useFactory: () => ({ verifier: new TellingVerifier() }) });
    const createdBy = ({ user }: { user: { login: string } }): { name: string } => ({ name: user.login });
    const trees = storeWith({ path: 'trees', guards: [TenantGuard], imports: [TenantModule], createdBy } as never);
    const providers = [{ provide: APP_INTERCEPTOR, useClass: TimeoutInterceptor }];
    const plants = storeWith({ guards: [BearerAuthGuard], imports: [auth] });
    const imports = [auth, trees, plants];
    host = await Host.start({ imports, providers, controllers: [OrdersController] }, { platform });
  });
  beforeEach(() => {
    host.logger.entries.length = 0;
  });
  afterAll(() => host.stop());

  const stored = (): Promise<unknown[]> => database.query('SELECT id, created_by FROM plants');

  describe('BearerAuthGuard, with a verifier of the host', () => {
    const ask = async (method: string, path: string, token: string): Promise<unknown[]> => {
      const body = method === 'POST' ? PLANT : undefined;
      const answer = await host.send(method, path, body, { Authorization: `Bearer ${token}` });
      return [answer.status, answer.body.error, answer.headers.get('WWW-Authenticate')];
    };

    it.each([
      ['ann~plants.create', 200, undefined, null],
      ['ann', 400, 40300, LACKS_CREATE],
      ['ann~plants.createall', 400, 40300, LACKS_CREATE],
      ['nobody', 400, 40101, expect.stringContaining('invalid_token')],
      ['away', 400, 50300, null],
      // A name that cannot be stored.
      ['~plants.create', 400, 50000, null],
    ])('should protect the plants: %s', async (token, ...answer) => {
      expect(await ask('POST', '/plants', token)).toEqual(answer);
      expect(await stored()).toEqual(answer[0] === 200 ? [{ id: '9007199254740993', created_by: 'ann' }] : []);
    });

    // Without ApiExceptionFilter, Nest answers with the status and the body, and no headers.
    it.each([
      ['GET', 'ann~read', 200, undefined, null],
      ['GET', 'ann', 403, 40300, LACKS_READ],
      ['POST', 'ann~list~write', 201, undefined, null],
      ['POST', 'ann~read~write', 403, 40300, null],
    ])('should protect routes of the host: %s with %s', async (method, token, ...answer) => {
      expect(await ask(method, '/orders', token)).toEqual(answer);
      // What PlantsService throws has the status that its number begins with.
      if (answer[0] === 201) expect(await ask(method, '/orders', token)).toEqual([409, 40901, null]);
    });
  });

  describe('a guard of the host in front of the store', () => {
    const send = (refusal: string, body = PLANT) => host.send('POST', '/trees', body, { 'X-Refuse': refusal });

    it('should let plants pass, with the creator that the host names', async () => {
      expect(await send('')).toMatchObject({ status: 200, body: { name: 'Rose' } });
      expect(await stored()).toEqual([{ id: '9007199254740993', created_by: 'alice' }]);
    });

    it.each([
      ['unauthorized', 40100, 'Show the pass of this host.', { 'www-authenticate': 'Bearer realm="plants"' }],
      ['forbidden', 40300, 'Gardeners only.', {}],
      ['false', 40300, 'Forbidden resource', {}],
      ['rate', 50301, 'One plant a minute.', { 'retry-after': '60' }],
      ['locked', 40010, 'The garden is closed.', {}],
    ])(
      'should refuse in the form of the contract what is %s, before the body',
      async (refusal, error, message, told) => {
        for (const body of [PLANT, 'not JSON']) {
          const answer = await send(refusal, body);
          expect(answer).toMatchObject({ status: 400, body: { error, message } });
          const headers = [...answer.headers].filter(([name]) => /^(?:www-authenticate|retry-after)$/.test(name));
          expect(Object.fromEntries(headers)).toEqual(told);
        }
        expect(host.logger.messages('error')).toEqual([]);
        expect(await stored()).toEqual([]);
      },
    );

    it('should tell the log alone why it is broken', async () => {
      const { status, body } = await send('broken');
      expect([status, body.error]).toEqual([400, 50000]);
      expect(JSON.stringify(body)).not.toContain('hunter2');
      expect(host.logger.messages('error')).toHaveLength(1);
    });

    it('should get 50400 for what an interceptor of the host gives up waiting for', async () => {
      await using lock = await TableLock.take(database);
      const answer = send('late');
      await lock.awaited();
      const message = expect.stringContaining('unknown') as unknown;
      expect(await answer).toMatchObject({ body: { error: 50400, message } });
    });
  });
});
