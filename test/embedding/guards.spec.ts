import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  HttpException,
  Injectable,
  Post,
  RequestTimeoutException,
  Scope,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { type Observable, throwError, timeout } from 'rxjs';
import {
  ApiError,
  ApiExceptionFilter,
  BearerAuthGuard,
  PlantsAuthModule,
  PlantsModule,
  type Principal,
  RequireScopes,
} from '../../src/index.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { type Answer, Host, PLATFORMS } from '../support/host/host.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';
const lacks = (scope: string): string => `Bearer realm="plants", error="insufficient_scope", scope="${scope}"`;

/** The scopes of tokens that the verifier of the host knows; others have those of the shop. */
const SCOPES: Record<string, string[]> = {
  shop: ['plants:create'],
  garden: ['plants:createall', 'read', 'write'],
  clerk: ['list', 'write'],
};

function verify(token: string): Promise<Principal | undefined> {
  if (token === 'away') throw new TypeError('the sessions are away');
  if (token === 'nobody') return Promise.resolve(undefined);
  const principal = { name: token, scopes: SCOPES[token] ?? SCOPES.shop } as Principal;
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 7, principal));
}

@Controller('orders')
@UseGuards(BearerAuthGuard)
@RequireScopes('read')
class OrdersController {
  @Get()
  @UseFilters(new ApiExceptionFilter('semantic'))
  find(): never {
    throw thrown;
  }

  @Post()
  @RequireScopes('list', 'write')
  create(): object {
    return {};
  }
}

/** What the handler of the host throws. */
let thrown: Error;
/** What the guard of the host throws, if it does not let the next request pass. */
let refusal: Error | undefined;

@Injectable({ scope: Scope.REQUEST })
class TenantGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    // Where @nestjs/throttler has it: on the response, before it throws.
    http.getResponse<{ header(name: string, value: string): void }>().header('Retry-After', '60');
    if (refusal !== undefined) throw refusal;
    http.getRequest<{ user: object }>().user = { login: 'alice' };
    return true;
  }
}

/** As Nest's documentation has it. A busy machine may need long for a create. */
function intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
  const first = Number(headers['x-patience'] ?? 60_000);
  return next.handle().pipe(timeout({ first, with: () => throwError(() => new RequestTimeoutException()) }));
}

describe.each(PLATFORMS)('in a host on %s', (platform) => {
  let database: TestDatabase;
  let host: Host;

  beforeAll(async () => {
    database = await createTestDatabase();
    const { url } = database;
    const auth = PlantsAuthModule.forRootAsync({ useFactory: () => ({ verifier: { verify } }) });
    const createdBy = (request: object) => ({ name: (request as { user: { login: string } }).user.login });
    const trees = PlantsModule.forRoot({ database: { url }, path: 'trees', guards: [TenantGuard], createdBy });
    const plants = PlantsModule.forRoot({ database: { url }, guards: [BearerAuthGuard], imports: [auth] });
    const providers = [{ provide: APP_INTERCEPTOR, useValue: { intercept } }];
    const imports = [auth, trees, plants];
    host = await Host.start({ imports, providers, controllers: [OrdersController] }, { platform });
  });
  beforeEach(() => database.query('TRUNCATE plants'));
  afterAll(async () => {
    await host.stop();
    await database.drop();
  });

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

  it('should give each of many requests at once the verdict on its own token', async () => {
    const names = Array.from({ length: 100 }, (_, id) => `client-${id}`);
    const send = (name: string, id: number): Promise<Answer> =>
      host.send('POST', '/plants', `{"id": ${id}, "name": "${name}"}`, { Authorization: `Bearer ${name}` });
    await Promise.all(names.map(send));
    const rows = await database.query('SELECT created_by FROM plants WHERE created_by = name');
    expect(rows).toHaveLength(names.length);
  });

  it('should leave the errors of handlers to the filters of the host, but answer those of the store', async () => {
    const find = (): Promise<Answer> => host.send('GET', '/orders', undefined, { Authorization: 'Bearer garden' });
    thrown = new HttpException('One order a minute.', 429);
    expect(await find()).toMatchObject({ status: 429, body: { message: 'One order a minute.' } });
    thrown = new ApiError(40901, 'The id 7 is taken.');
    expect(await find()).toMatchObject({ status: 409, body: { error: 40901, message: 'The id 7 is taken.' } });
  });

  describe('a guard of the host in front of the store', () => {
    const send = (body = PLANT, headers = {}): Promise<Answer> => host.send('POST', '/trees', body, headers);

    it.each([
      ['forbidden', 40300, 'No.', new ForbiddenException('No.')],
      ['without a credential', 40100, 'Show a pass.', new UnauthorizedException('Show a pass.')],
      ['beyond a limit', 50301, 'One plant a minute.', new HttpException('One plant a minute.', 429)],
      ['for another reason', 40010, 'It is closed.', new HttpException('It is closed.', 423)],
      ['by a failure, for the log alone', 50000, expect.not.stringContaining('hunter2'), new TypeError('hunter2')],
    ])('should refuse in the form of the contract, before the fields: %s', async (_, error, message, failure) => {
      host.logger.entries.length = 0;
      refusal = failure;
      const { headers, ...answer } = await send('{}');
      expect(answer).toEqual({ status: 400, body: { error, message } });
      expect(headers.get('WWW-Authenticate')).toBe(error === 40100 ? 'Bearer realm="plants"' : null);
      expect(headers.get('Retry-After')).toBe('60');
      expect(host.logger.messages('error')).toHaveLength(error === 50000 ? 1 : 0);
    });

    it('should name the creator of a plant, and let an interceptor end the wait with 50400', async () => {
      refusal = undefined;
      expect(await send()).toMatchObject({ status: 200, body: { name: 'Rose' } });
      expect(await creators()).toEqual([{ created_by: 'alice' }]);
      await using lock = await TableLock.take(database);
      const answer = send(PLANT, { 'X-Patience': '1000' });
      await lock.awaited();
      expect((await answer).body).toMatchObject({ error: 50400 });
    });
  });
});
