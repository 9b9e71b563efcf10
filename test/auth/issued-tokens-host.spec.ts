import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Req, UseFilters, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { ApiExceptionFilter, PlantsAuthModule, BearerAuthGuard, Migrator, type Principal } from '../../src/index.js';
import type { IssuedTokensOptions } from '../../src/auth/auth.options.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { tokenSessions } from '../support/service/store-instances.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';

const SCHEMA = 'garden';

@Controller('me')
@UseGuards(BearerAuthGuard)
@UseFilters(new ApiExceptionFilter('semantic'))
class MeController {
  @Get()
  me(@Req() request: { user: Principal }): Principal {
    return request.user;
  }
}

describe('An application of its own that takes issued tokens', () => {
  let database: TestDatabase;
  let app: NestExpressApplication;

  beforeEach(async () => {
    database = await createTestDatabase({ migrated: false });
    const { url } = database;
    await new Migrator({ url, schema: SCHEMA }).migrate();
    @Module({
      imports: [PlantsAuthModule.forRoot({ issuedTokens: { url, schema: SCHEMA } })],
      controllers: [MeController],
    })
    class HostModule {}
    app = await NestFactory.create<NestExpressApplication>(HostModule, { logger: false });
    await app.listen(0, '127.0.0.1');
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  async function ask(headers: Record<string, string>): Promise<{ status: number; body: unknown }> {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/me`, { headers });
    return { status: response.status, body: await response.json() };
  }

  it('should know who comes, and have nothing left when it is closed', async () => {
    const query: TestDatabase['query'] = (sql, parameters) =>
      database.query(sql.replace('access_tokens', `${SCHEMA}.access_tokens`), parameters);
    const { headers, token } = await issueToken({ query }, { name: 'host', scopes: ['water'] });

    expect(await ask(headers)).toEqual({
      status: 200,
      body: { name: 'host', scopes: ['water'] },
    });
    expect(await ask(bearer(`${token.slice(0, -1)}-`))).toMatchObject({ status: 401, body: { error: 40101 } });
    await app.close();
    expect(await tokenSessions(database)).toEqual([]);
  });

  it.each<[string, (url: string) => IssuedTokensOptions, RegExp]>([
    ['in a schema without them', (url) => ({ url }), /^schema public .* is not migrated: /],
    [
      'in a database that cannot be reached',
      () => ({ url: 'postgresql://gardener@127.0.0.1:1/plants' }),
      /^cannot connect to database plants at 127\.0\.0\.1:1/,
    ],
  ])('should not start if they are to be %s', async (_, issuedTokens, message) => {
    @Module({ imports: [PlantsAuthModule.forRoot({ issuedTokens: issuedTokens(database.url) })] })
    class HostModule {}
    const host = await NestFactory.create(HostModule, { logger: false, abortOnError: false });
    await expect(host.init()).rejects.toThrow(message);
    await host.close();
  });
});
