import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  type DynamicModule,
  Get,
  Global,
  Module,
  Post,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import {
  ApiExceptionFilter,
  BearerAuthGuard,
  PlantsAuthModule,
  PlantsModule,
  PlantsService,
  type Principal,
  RequireScopes,
  TokenVerifier,
} from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Host, PLATFORMS } from '../support/host/host.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const TOKEN = 'a-token-of-the-host-0123456789abcdef';
const LACKS_CREATE = 'Bearer realm="plants", error="insufficient_scope", scope="plants:create"';
const LACKS_READ = 'Bearer realm="plants", error="insufficient_scope", scope="read"';

/** A host's own way to tell what a token is worth: its name, and its scopes after tildes. A token has no colon and no percent sign. */
class TellingVerifier extends TokenVerifier {
  verify(token: string): Promise<Principal | undefined> {
    if (token === 'away') return Promise.reject(new Error('the sessions are away'));
    const [name = '', ...scopes] = token.split('~');
    const principal = { name: name.replace('+00', '\0'), scopes: scopes.map((scope) => scope.replace('.', ':')) };
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
  async create(@Body() { id }: { id: number }): Promise<object> {
    return this.plants.create({ id: BigInt(id), name: 'Rose' });
  }
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(() => database.query('TRUNCATE plants'));
afterAll(() => database.drop());

const storeWith = (...imports: (DynamicModule | Type)[]): DynamicModule =>
  PlantsModule.forRoot({ database: { url: database.url }, guards: [BearerAuthGuard], imports });

describe.each(PLATFORMS)('BearerAuthGuard in a host on %s, with a verifier of the host', (platform) => {
  let host: Host;

  beforeAll(async () => {
    const auth = PlantsAuthModule.forRootAsync({ useFactory: () => ({ verifier: new TellingVerifier() }) });
    const imports = [auth, storeWith(auth)];
    host = await Host.start({ imports, controllers: [OrdersController] }, { platform });
  });
  afterAll(() => host.stop());

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
    // Names that cannot be stored.
    ['~plants.create', 400, 50000, null],
    ['+00~plants.create', 400, 50000, null],
  ])('should protect the plants: %s', async (token, ...answer) => {
    expect(await ask('POST', '/plants', token)).toEqual(answer);
    const stored = await database.query('SELECT created_by FROM plants');
    expect(stored).toEqual(answer[0] === 200 ? [{ created_by: 'ann' }] : []);
  });

  // Without ApiExceptionFilter, Nest answers with the status and the body, and no headers.
  it.each([
    ['GET', 'ann~read', 200, undefined, null],
    ['GET', 'ann', 403, 40300, LACKS_READ],
    ['GET', 'nobody', 401, 40101, expect.stringContaining('invalid_token')],
    ['POST', 'ann~list~write', 201, undefined, null],
    ['POST', 'ann~read~write', 403, 40300, null],
  ])('should protect routes of the host: %s with %s', async (method, token, ...answer) => {
    expect(await ask(method, '/orders', token)).toEqual(answer);
  });

  it('should leave what PlantsService throws the status that its number begins with', async () => {
    const token = 'ann~list~write';
    expect(await ask('POST', '/orders', token)).toEqual([201, undefined, null]);
    expect(await ask('POST', '/orders', token)).toEqual([409, 40901, null]);
  });
});

describe(RequireScopes.name, () => {
  it.each([[], [''], ['a', 'reports.read reports.write'], ['say "a"'], ['plants:säen'], [['read']], [undefined]])(
    'should refuse at once what is no scope (%#)',
    (...scopes) => {
      expect(() => RequireScopes(...(scopes as string[]))).toThrow(/^RequireScopes\(\) should have scopes/);
    },
  );
});

describe('the PlantsAuthModule of a store behind BearerAuthGuard', () => {
  let host: Host | undefined;

  afterEach(async () => {
    await host?.stop();
    host = undefined;
  });

  const auth = (): DynamicModule => PlantsAuthModule.forRoot({ accessTokens: [TOKEN] });
  function exporting(decorate: ClassDecorator): Type {
    const module = auth();
    @decorate
    @Module({ imports: [module], exports: [module] })
    class SecurityModule {}
    return SecurityModule;
  }

  it.each<[string, () => (DynamicModule | Type)[]]>([
    ['among the imports of the store', () => [storeWith(auth())]],
    ['behind a module of the host', () => [storeWith(exporting(() => undefined))]],
    ['in a global module', () => [storeWith(), exporting(Global())]],
  ])('should be found %s', async (_, imports) => {
    host = await Host.start({ imports: imports() });
    expect((await host.send('POST', '/plants', PLANT)).body).toMatchObject({ error: 40100 });
    expect((await host.send('POST', '/plants', PLANT, { Authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });
});
