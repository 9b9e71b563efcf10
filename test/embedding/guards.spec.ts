import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  type CanActivate,
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  type ModuleMetadata,
  Post,
  RequestTimeoutException,
  Scope,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { PassportModule, PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { type Observable, throwError, timeout } from 'rxjs';
import {
  ApiError,
  ApiExceptionFilter,
  BearerAuthGuard,
  PlantsAuthModule,
  PlantsModule,
  type PlantsModuleOptions,
  type Principal,
  RequireScopes,
} from '../../src/index.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { type Answer, Host, PLATFORMS } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';
const lacks = (scope: string): string => `Bearer realm="plants", error="insufficient_scope", scope="${scope}"`;

/** The tokens that the verifier of the host knows, and their scopes. */
const SCOPES: Record<string, string[]> = {
  shop: ['plants:create'],
  garden: ['plants:createall', 'read', 'write'],
  clerk: ['list', 'write'],
};

async function verify(token: string): Promise<Principal | undefined> {
  if (token === 'away') throw new Error('the sessions are away');
  const scopes = SCOPES[token];
  return await Promise.resolve(scopes && { name: token, scopes });
}

@Controller('orders')
@UseGuards(BearerAuthGuard)
@RequireScopes('read')
class OrdersController {
  @Get()
  @UseFilters(new ApiExceptionFilter('semantic'))
  find(): object {
    if (thrown !== undefined) throw thrown;
    return {};
  }

  @Post()
  @RequireScopes('list')
  @RequireScopes('write', 'write')
  create(): object {
    return {};
  }
}

/** What the handler of the host throws. */
let thrown: Error | undefined;
/** Whether the guard of the host lets the next request pass, or what it throws. */
let verdict: boolean | Error = true;

@Injectable({ scope: Scope.REQUEST })
class TenantGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    // Where @nestjs/throttler has it: on the response, before it throws.
    http.getResponse<{ header(name: string, value: string): void }>().header('Retry-After', '60');
    if (verdict instanceof Error) throw verdict;
    http.getRequest<{ user: object }>().user = { login: 'alice' };
    return verdict;
  }
}

/** As Nest's documentation has it. A busy machine may need long for a create. */
function intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
  const first = Number(headers['x-patience'] ?? 60_000);
  return next.handle().pipe(timeout({ first, with: () => throwError(() => new RequestTimeoutException()) }));
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

describe.each(PLATFORMS)('in a host on %s', (platform) => {
  let host: Host;

  beforeAll(async () => {
    const auth = PlantsAuthModule.forRootAsync({ useFactory: () => ({ verifier: { verify } }) });
    const createdBy = ({ user }: { user: { login: string } }): { name: string } => ({ name: user.login });
    const trees = storeWith({ path: 'trees', guards: [TenantGuard], createdBy });
    const plants = storeWith({ guards: [BearerAuthGuard], imports: [auth] });
    const providers = [{ provide: APP_INTERCEPTOR, useValue: { intercept } }];
    const imports = [auth, trees, plants];
    host = await Host.start({ imports, providers, controllers: [OrdersController] }, { platform });
  });
  afterAll(() => host.stop());

  const creators = (): Promise<unknown[]> => database.query('SELECT created_by FROM plants');

  it.each([
    ['POST', '/plants', 'shop', 200, undefined, null],
    ['POST', '/plants', 'garden', 400, 40300, lacks('plants:create')],
    ['POST', '/plants', 'nobody', 400, 40101, expect.stringContaining('invalid_token')],
    ['POST', '/plants', 'away', 400, 50300, null],
    ['GET', '/orders', 'clerk', 403, 40300, lacks('read')],
    // Without ApiExceptionFilter, Nest answers with the status and the body, and no headers.
    ['POST', '/orders', 'garden', 403, 40300, null],
    ['POST', '/orders', 'clerk', 201, undefined, null],
  ])('should protect by BearerAuthGuard: %s %s with the token %s', async (method, path, token, ...expected) => {
    const body = method === 'POST' ? PLANT : undefined;
    const { status, body: answer, headers } = await host.send(method, path, body, { Authorization: `Bearer ${token}` });
    expect([status, answer.error, headers.get('WWW-Authenticate')]).toEqual(expected);
    expect(await creators()).toEqual(status === 200 ? [{ created_by: 'shop' }] : []);
  });

  it.each([
    [404, 'There is no order 7.'],
    [409, 'The order 7 is sent.'],
    [408, 'Too slow.'],
    [429, 'One order a minute.'],
    [503, 'The warehouse is closed.'],
  ])('should leave to the filters of the host what its handlers throw: %d', async (status, message) => {
    const headers = { Authorization: 'Bearer garden' };
    thrown = new HttpException(message, status);
    expect(await host.send('GET', '/orders', undefined, headers)).toMatchObject({ status, body: { message } });
    // And answer what the store throws there.
    thrown = new ApiError(40901, 'The id 7 is taken.');
    const body = { error: 40901, message: 'The id 7 is taken.' };
    expect(await host.send('GET', '/orders', undefined, headers)).toMatchObject({ status: 409, body });
    thrown = undefined;
  });

  describe('a guard of the host in front of the store', () => {
    const send = (body = PLANT, headers = {}): Promise<Answer> => host.send('POST', '/trees', body, headers);

    it.each([
      [40300, 'Forbidden resource', false],
      [40100, 'Show a pass.', new UnauthorizedException('Show a pass.')],
      [50301, 'One plant a minute.', new HttpException('One plant a minute.', 429)],
      [40010, 'It is closed.', new HttpException({ reasons: ['closed'], message: 'It is closed.' }, 423)],
      // For the log alone.
      [50000, expect.not.stringContaining('hunter2'), new TypeError('the password is hunter2')],
    ])('should refuse in the form of the contract, before the fields: %d', async (error, message, refusal) => {
      host.logger.entries.length = 0;
      verdict = refusal;
      const { headers, ...answer } = await send('{}');
      expect(answer).toEqual({ status: 400, body: { error, message } });
      expect(headers.get('WWW-Authenticate')).toBe(error === 40100 ? 'Bearer realm="plants"' : null);
      expect(headers.get('Retry-After')).toBe('60');
      expect(host.logger.messages('error')).toHaveLength(error === 50000 ? 1 : 0);
    });

    it('should let plants pass with the creator that the host names, and interceptors end their wait as 50400', async () => {
      expect(await send()).toMatchObject({ status: 200, body: { name: 'Rose' } });
      expect(await creators()).toEqual([{ created_by: 'alice' }]);
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

  it.each<[unknown, RegExp]>([
    [[BearerAuthGuard], /resolve dependencies of the BearerAuthGuard .*BearerStrategy/],
    ['global', /^guards: is 'global', but the application has no global guard/m],
  ])('should keep the application from starting if they are not there: %j', async (guards, message) => {
    await expect(Host.start({ imports: [storeWith({ guards })] })).rejects.toThrow(message);
  });

  it("should not let a strategy or a property of the host's passport decide on the route of the store", async () => {
    class OtherStrategy extends PassportStrategy(Strategy, 'jwt') {
      validate(): object {
        return { name: 'mallory', scopes: ['plants:create'] };
      }
    }
    const passport = { ...PassportModule.register({ defaultStrategy: 'jwt', property: 'account' }), global: true };
    const imports = [passport, auth, storeWith({ guards: [BearerAuthGuard] })];
    const host = await Host.start({ imports, providers: [OtherStrategy] });
    const send = async (token: string): Promise<unknown> =>
      (await host.send('POST', '/plants', PLANT, { Authorization: `Bearer ${token}` })).body;
    expect(await send('a-token-of-nobody-at-all')).toMatchObject({ error: 40101 });
    expect(await send(TOKEN)).toEqual({ name: 'Rose' });
    expect(await database.query('SELECT created_by FROM plants')).toEqual([{ created_by: 'static' }]);
    await host.stop();
  });

  it('should not be told scopes that protect nothing', () => {
    for (const scopes of [[], ['a', 'reports.read reports.write'], [undefined]])
      expect(() => RequireScopes(...(scopes as string[]))).toThrow('RequireScopes() should have scopes such as ');
  });
});
