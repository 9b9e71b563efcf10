import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Inject, Module, Post, UseFilters, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import {
  ApiExceptionFilter,
  PlantsAuthModule,
  BearerAuthGuard,
  PlantsModule,
  PlantsService,
  type Principal,
  RequireScopes,
  TokenVerifier,
} from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { adapterOf } from '../support/host/adapter.js';
import { PLATFORMS } from '../support/host/platforms.js';

const TOKEN = 'a-token-of-the-host-0123456789abcdef';

@Controller('orders')
@UseGuards(BearerAuthGuard)
class OrdersController {
  constructor(@Inject(PlantsService) private readonly plants: PlantsService) {}

  @Get()
  find(): object {
    return { orders: [] };
  }

  @Get('told-whole')
  @UseFilters(new ApiExceptionFilter('semantic'))
  findToldWhole(): object {
    return this.find();
  }

  @Post()
  async create(@Body() { id }: { id: number }): Promise<object> {
    await this.plants.create({ id: BigInt(id), name: 'Rose' });
    return { id };
  }
}

/** A token is its name, and its scopes, after tildes. */
class NamedScopesVerifier extends TokenVerifier {
  verify(token: string): Principal {
    const [name = '', ...scopes] = token.split('~');
    return { name, scopes };
  }
}

@Controller('reports')
@UseGuards(BearerAuthGuard)
@UseFilters(new ApiExceptionFilter('semantic'))
@RequireScopes('reports.read')
class ReportsController {
  @Get()
  list(): object {
    return {};
  }

  @Post()
  @RequireScopes('orders.read')
  @RequireScopes('reports.write', 'reports.write')
  create(): object {
    return {};
  }
}

describe.each(PLATFORMS)("the scopes that a host's own routes require on %s", (platform) => {
  let app: NestExpressApplication;

  beforeAll(async () => {
    @Module({
      imports: [PlantsAuthModule.forRoot({ verifier: new NamedScopesVerifier() })],
      controllers: [ReportsController],
    })
    class HostModule {}
    const adapter = adapterOf(platform);
    app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, { logger: false });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(() => app.close());

  const ask = async (method: string, token: string): Promise<[number, string | null, unknown]> => {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${await app.getUrl()}/reports`, { method, headers });
    return [response.status, response.headers.get('WWW-Authenticate'), await response.json()];
  };

  it('should be those of the controller', async () => {
    expect((await ask('GET', 'ann~reports.read'))[0]).toBe(200);
    const message = 'The access token lacks the scope reports.read. Send one that has it.';
    for (const token of ['ann', 'ann~reports.readall~reports.write']) {
      expect(await ask('GET', token)).toEqual([
        403,
        'Bearer realm="plants", error="insufficient_scope", scope="reports.read"',
        { error: 40300, message },
      ]);
    }
  });

  it('should be those of the handler instead, all of them', async () => {
    expect((await ask('POST', 'ann~orders.read~reports.write'))[0]).toBe(201);
    const challenge = 'Bearer realm="plants", error="insufficient_scope", scope="reports.write orders.read"';
    for (const [token, lacking] of [
      ['ann~reports.read', 'the scope reports.write orders.read. Send one that has it.'],
      ['ann~reports.write', 'the scope orders.read. Send one that has it.'],
    ] as const) {
      const message = `The access token lacks ${lacking}`;
      expect(await ask('POST', token)).toEqual([403, challenge, { error: 40300, message }]);
    }
  });

  it.each<[string, unknown[]]>([
    ['RequireScopes(): scope 1 is missing, should be visible ASCII', []],
    ['RequireScopes(): scope 1 is "", should be visible ASCII', ['']],
    ['RequireScopes(): scope 2 is "reports.read reports.write", should be', ['a', 'reports.read reports.write']],
    ['RequireScopes(): scope 1 is "say \\"a\\"", should be', ['say "a"']],
    ['RequireScopes(): scope 1 is "plants:säen", should be', ['plants:säen']],
    ['RequireScopes(): scope 1 is an array, should be', [['reports.read']]],
    ['RequireScopes(): scope 1 is missing, should be', [undefined]],
  ])('should be refused at once: %s', (message, scopes) => {
    expect(() => RequireScopes(...(scopes as string[]))).toThrow(TypeError);
    expect(() => RequireScopes(...(scopes as string[]))).toThrow(message);
  });
});

describe.each(PLATFORMS)("a host's own routes with BearerAuthGuard on %s", (platform) => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let url: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    const auth = PlantsAuthModule.forRoot({ accessTokens: [TOKEN] });
    const store = PlantsModule.forRoot({ database: { url: database.url }, guards: [BearerAuthGuard], imports: [auth] });

    @Module({ imports: [auth, store], controllers: [OrdersController] })
    class HostModule {}

    const adapter = adapterOf(platform);
    app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, { logger: false });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/orders`;
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });
  beforeEach(() => database.query('TRUNCATE plants'));

  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
  const order = (id: number): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { ...bearer(TOKEN).headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id }),
    });

  it('should refuse with the status that the number begins with, without any filter', async () => {
    expect((await fetch(url, bearer(TOKEN))).status).toBe(200);

    const refused = async (init?: RequestInit): Promise<[number, unknown]> => {
      const response = await fetch(url, init);
      return [response.status, await response.json()];
    };
    const message = expect.any(String) as unknown;
    expect(await refused()).toEqual([401, { error: 40100, message }]);
    expect(await refused(bearer('wrong'))).toEqual([401, { error: 40101, message }]);
  });

  it('should refuse with all headers if they have ApiExceptionFilter', async () => {
    const response = await fetch(`${url}/told-whole`);
    expect(response.status).toBe(401);
    expect(response.headers.get('WWW-Authenticate')).toBe('Bearer realm="plants"');
    expect(await response.json()).toMatchObject({ error: 40100 });
  });

  it('should answer what PlantsService throws with its status', async () => {
    expect((await order(1)).status).toBe(201);
    const taken = await order(1);
    expect(taken.status).toBe(409);
    expect(await taken.json()).toMatchObject({ error: 40901 });
  });
});
