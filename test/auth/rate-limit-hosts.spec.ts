import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, type DynamicModule, Get, Module, UseGuards } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import { AuthModule, BearerAuthGuard, PlantsModule, type Principal, TokenVerifier } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PLATFORMS } from '../support/host/platforms.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { requestHead } from '../support/http/request.js';
import { outcomes, sendInTurn, times, wrongTokens } from '../support/http/requests-in-turn.js';
import { connectTo } from '../support/service/store.js';

/** Tokens are good if their name says so, and only some may create plants. */
class CallersVerifier extends TokenVerifier {
  verify(token: string): Principal | undefined {
    const name = /^good-(\w+)$/.exec(token)?.[1];
    const rateLimit = name === 'slow' ? 1 : name === 'free' ? 0 : undefined;
    return name === undefined ? undefined : { name, scopes: name === 'reader' ? [] : ['plants:create'], rateLimit };
  }
}

@Controller('orders')
@UseGuards(BearerAuthGuard)
class OrdersController {
  @Get()
  find(): object {
    return { orders: [] };
  }
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const LIMITS = { verifier: new CallersVerifier(), rateLimit: 3, wrongTokenLimit: 2 };

describe.each(PLATFORMS)('the limits of a host on %s', (platform) => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let port: number;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  async function start(auth: DynamicModule, { trustProxy = false } = {}): Promise<void> {
    const store = PlantsModule.forRoot({ database: { url: database.url }, guards: [BearerAuthGuard], imports: [auth] });

    @Module({
      // On all routes of the application, and on the store's and a controller's once more.
      imports: [auth, store],
      controllers: [OrdersController],
      providers: [{ provide: APP_GUARD, useExisting: BearerAuthGuard }],
    })
    class HostModule {}

    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter({ trustProxy });
    app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, { logger: false, abortOnError: false });
    if (platform === 'express' && trustProxy) app.set('trust proxy', trustProxy);
    await app.listen(0, '127.0.0.1');
    port = (app.getHttpServer().address() as AddressInfo).port;
  }

  const create = (id: number, token: string) => ({
    body: JSON.stringify({ id, name: 'Rose' }),
    headers: bearer(token),
  });
  const left = ({ headers }: RawResponse): string | undefined => headers['ratelimit-remaining'];

  it.each([
    ['forRoot', () => AuthModule.forRoot(LIMITS)],
    ['forRootAsync', () => AuthModule.forRootAsync({ useFactory: () => Promise.resolve(LIMITS) })],
  ])('should be those of the options of %s, on the store and on routes of its own', async (_name, auth) => {
    await start(auth());
    const answers = await sendInTurn(port, [create(1, 'good-alice'), create(1, 'good-alice'), create(1, 'good-bob')]);
    expect(outcomes(answers)).toEqual([200, 40901, 40901]);
    expect(answers.map(left)).toEqual(['2', '1', '2']);

    const { raw } = connectTo(port, '');
    const orders = await raw(requestHead('GET /orders HTTP/1.1', bearer('good-alice')));
    expect(orders).toMatchObject({ status: 200, headers: { 'ratelimit-limit': '3', 'ratelimit-remaining': '0' } });

    const [refusal] = await sendInTurn(port, [create(2, 'good-alice')]);
    expect(JSON.parse(refusal?.body ?? '')).toMatchObject({ error: 42900 });
    expect(refusal?.headers).toMatchObject({
      'ratelimit-limit': '3',
      'ratelimit-remaining': '0',
      'ratelimit-policy': '3;w=60',
      'retry-after': refusal?.headers['ratelimit-reset'],
    });
    expect(outcomes(await sendInTurn(port, wrongTokens(4)))).toEqual([40101, 40101, 42900, 42900]);
    expect(outcomes(await sendInTurn(port, [create(2, 'good-bob')]))).toEqual([200]);
  });

  it('should count requests that lack the scope, with headers', async () => {
    await start(AuthModule.forRoot(LIMITS));
    const answers = await sendInTurn(
      port,
      [1, 2, 3, 4].map((id) => create(id, 'good-reader')),
    );
    expect(outcomes(answers)).toEqual([40300, 40300, 40300, 42900]);
    expect(answers.map(left)).toEqual(['2', '1', '0', '0']);
  });

  it.each([{ rateLimit: 3 }, {}])('should be that of the principal, if it has one, with %j', async (options) => {
    await start(AuthModule.forRoot({ verifier: LIMITS.verifier, ...options }));
    const answers = await sendInTurn(port, [
      ...Array.from({ length: 2 }, () => create(1, 'good-slow')),
      ...Array.from({ length: 5 }, () => create(1, 'good-free')),
    ]);
    expect(outcomes(answers)).toEqual([200, 42900, ...times(5, 40901)]);
    expect(answers.map(left)).toEqual(['0', '0', ...Array<undefined>(5).fill(undefined)]);
  });

  it('should hold exactly when many come at a time', async () => {
    await start(AuthModule.forRoot({ ...LIMITS, rateLimit: 10 }));
    const requests = Array.from({ length: 50 }, (_, id) => sendInTurn(port, [create(id, 'good-alice')]));
    const answers = (await Promise.all(requests)).flat();
    expect(outcomes(answers).sort((a, b) => a - b)).toEqual([...times(10, 200), ...times(40, 42900)]);
  });

  it('should be of a hundred wrong tokens and any number of requests without options', async () => {
    await start(AuthModule.forRoot({ verifier: new CallersVerifier() }));
    expect(outcomes(await sendInTurn(port, wrongTokens(101)))).toEqual([...times(100, 40101), 42900]);
    const [answer] = await sendInTurn(port, [create(1, 'good-alice')]);
    expect(Object.keys(answer?.headers ?? {}).join()).not.toContain('ratelimit');
  });

  it.each([
    [true, [40101, 40101, 42900, 40101]],
    [false, [40101, 40101, 42900, 42900]],
  ])('should go by the address that the platform has, if proxies are trusted: %p', async (trustProxy, expected) => {
    await start(AuthModule.forRoot(LIMITS), { trustProxy });
    const requests = [
      ...wrongTokens(3, { 'X-Forwarded-For': '192.0.2.1' }),
      ...wrongTokens(1, { 'X-Forwarded-For': '192.0.2.2' }),
    ];
    expect(outcomes(await sendInTurn(port, requests))).toEqual(expected);
  });
});
