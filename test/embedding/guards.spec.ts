import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  type CallHandler,
  type CanActivate,
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  HttpException,
  Inject,
  Injectable,
  type ModuleMetadata,
  type NestInterceptor,
  Post,
  RequestTimeoutException,
  Scope,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost, REQUEST } from '@nestjs/core';
import { type Observable, throwError, timeout } from 'rxjs';
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
import { type Answer, Host, PLATFORMS } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

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

/** Whether the guard of the host lets the next request pass, or what it throws. */
let verdict: boolean | Error = true;

/** One for each request, with what it needs injected, as a host may have for a tenant. */
@Injectable({ scope: Scope.REQUEST })
class TenantGuard implements CanActivate {
  constructor(
    @Inject(REQUEST) private readonly request: { user?: object },
    private readonly platform: HttpAdapterHost,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    // Where @nestjs/throttler has it: on the response, before it throws.
    if (verdict instanceof HttpException && verdict.getStatus() === 429)
      this.platform.httpAdapter.setHeader(context.switchToHttp().getResponse(), 'Retry-After', '60');
    if (verdict instanceof Error) throw verdict;
    this.request.user = { login: 'alice' };
    return verdict;
  }
}

/** As Nest's documentation has it. A busy machine may need long for a create. */
class TimeoutInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    const first = Number(headers['x-patience'] ?? 60_000);
    return next.handle().pipe(timeout({ first, with: () => throwError(() => new RequestTimeoutException()) }));
  }
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  verdict = true;
  await database.query('TRUNCATE plants');
});
afterAll(() => database.drop());

const storeWith = (options: object): DynamicModule =>
  PlantsModule.forRoot({ database: { url: database.url }, ...options } as PlantsModuleOptions);
const stored = (): Promise<unknown[]> => database.query('SELECT id, created_by FROM plants');

describe.each(PLATFORMS)('in a host on %s', (platform) => {
  let host: Host;

  beforeAll(async () => {
    const auth = PlantsAuthModule.forRootAsync({ useFactory: () => ({ verifier: new TellingVerifier() }) });
    const createdBy = ({ user }: { user: { login: string } }): { name: string } => ({ name: user.login });
    const trees = storeWith({ path: 'trees', guards: [TenantGuard], createdBy });
    const plants = storeWith({ guards: [BearerAuthGuard], imports: [auth] });
    const providers = [{ provide: APP_INTERCEPTOR, useClass: TimeoutInterceptor }];
    const imports = [auth, trees, plants];
    host = await Host.start({ imports, providers, controllers: [OrdersController] }, { platform });
  });
  afterAll(() => host.stop());

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
    const send = (body = PLANT, headers = {}): Promise<Answer> => host.send('POST', '/trees', body, headers);

    it('should let plants pass, with the creator that the host names', async () => {
      expect(await send()).toMatchObject({ status: 200, body: { name: 'Rose' } });
      expect(await stored()).toEqual([{ id: '9007199254740993', created_by: 'alice' }]);
    });

    it.each([
      [40300, 'Forbidden resource', false, {}],
      [
        40100,
        'Show a pass.',
        new UnauthorizedException('Show a pass.'),
        { 'www-authenticate': 'Bearer realm="plants"' },
      ],
      [50301, 'One plant a minute.', new HttpException('One plant a minute.', 429), { 'retry-after': '60' }],
      [40010, 'It is closed.', new HttpException({ reasons: ['closed'], message: 'It is closed.' }, 423), {}],
      // For the log alone.
      [50000, expect.not.stringContaining('hunter2'), new TypeError('the password is hunter2'), {}],
    ])('should refuse in the form of the contract, before the body: %d', async (error, message, refusal, told) => {
      host.logger.entries.length = 0;
      verdict = refusal;
      for (const body of [PLANT, 'not JSON']) {
        const answer = await send(body);
        expect(answer).toMatchObject({ status: 400, body: { error, message } });
        const headers = [...answer.headers].filter(([name]) => /^(?:www-authenticate|retry-after)$/.test(name));
        expect(Object.fromEntries(headers)).toEqual(told);
      }
      expect(host.logger.messages('error')).toHaveLength(error === 50000 ? 2 : 0);
      expect(await stored()).toEqual([]);
    });

    it('should get 50400 for what an interceptor of the host gives up waiting for', async () => {
      await using lock = await TableLock.take(database);
      const answer = send(PLANT, { 'X-Patience': '1000' });
      await lock.awaited();
      const message = expect.stringContaining('unknown') as unknown;
      expect(await answer).toMatchObject({ body: { error: 50400, message } });
    });
  });
});

describe('the guards of a store', () => {
  // Of a module of the host that is global.
  const auth = { ...PlantsAuthModule.forRoot({ accessTokens: [TOKEN] }), global: true };
  const closed = { provide: APP_GUARD, useClass: TenantGuard, scope: Scope.REQUEST };

  it.each<[unknown, ModuleMetadata, object]>([
    [[BearerAuthGuard], { imports: [auth] }, { error: 40100 }],
    ['global', { providers: [closed] }, { error: 40300 }],
    ['none', {}, { name: 'Rose' }],
  ])('should be found: %j', async (guards, { imports = [], ...metadata }, body) => {
    verdict = false;
    const host = await Host.start({ imports: [storeWith({ guards }), ...imports], ...metadata });
    expect((await host.send('POST', '/plants', PLANT)).body).toMatchObject(body);
    const warning = /^guards is 'none': everybody may create plants at the path "plants", unless/;
    expect(host.logger.messages('warn')).toEqual(guards === 'none' ? [expect.stringMatching(warning)] : []);
    await host.stop();
  });

  it.each<[object, RegExp]>([
    [{ guards: [BearerAuthGuard] }, /resolve dependencies of the BearerAuthGuard .*TokenVerifier/],
    [{ guards: 'global' }, /^guards: is 'global', but the application has no global guard/m],
    [{ guards: 'none', bodylimit: 5 }, /^The options of PlantsModule cannot be used:\nbodylimit: is no option/],
  ])('should keep the application from starting with %j', async (options, message) => {
    await expect(Host.start({ imports: [storeWith(options)] })).rejects.toThrow(message);
  });

  it('should be told scopes, and nothing else', () => {
    for (const scopes of [[], [''], ['a', 'reports.read reports.write'], [['read']], [undefined]]) {
      const message = /^RequireScopes\(\) should have scopes such as orders:read/;
      expect(() => RequireScopes(...(scopes as string[]))).toThrow(message);
    }
  });
});
