import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { AuthModule, BearerAuthGuard, PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';
import { callWithoutServer } from '../support/http/without-server.js';

describe('the store in an application that keeps the raw body', () => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let url: string;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  async function start(
    reading: object = { rawBody: true },
    added: object = {},
    guard: object = { guards: 'none' },
  ): Promise<void> {
    @Module({
      imports: [
        PlantsModule.forRoot({
          database: { url: database.url },
          bodyLimit: 1000,
          ...(guard as { guards: 'none' }),
        }),
      ],
    })
    class HostModule {}
    app = await NestFactory.create<NestExpressApplication>(HostModule, { ...reading, logger: false });
    app.use((request: object, _: unknown, next: () => void) => {
      Object.assign(request, added);
      next();
    });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  }

  async function post(path: string, body: string | Buffer, encoding?: string): Promise<[number, unknown]> {
    const headers = { 'Content-Type': 'application/json', ...(encoding && { 'Content-Encoding': encoding }) };
    const response = await fetch(`${url}/${path}`, { method: 'POST', headers, body });
    return [response.status, await response.json()];
  }

  const ids = async (): Promise<unknown> =>
    (await database.query('SELECT id FROM plants ORDER BY id')).map(({ id }) => id);

  it('should read it as strictly as a body of its own', async () => {
    await start();
    expect(await post('plants', '{"id": 9007199254740993, "name": "Rose"}')).toEqual([200, { name: 'Rose' }]);
    expect(await post('plants', gzipSync('{"id": -9007199254740993, "name": "Fern"}'), 'gzip')).toMatchObject([
      200,
      {},
    ]);
    expect(await post('plants', '{"id": 1, "id": 1, "name": "Rose"}')).toMatchObject([400, { error: 40002 }]);
    expect(await post('plants', `{"id": 1, "name": "${'x'.repeat(1000)}"}`)).toMatchObject([400, { error: 41300 }]);
    expect(await ids()).toEqual(['-9007199254740993', '9007199254740993']);
  });

  it('should read a request of HTTP/1 whose property `stream` is of the host', async () => {
    await start({ bodyParser: false }, { stream: {} });
    expect(await post('plants', '{"id": 1, "name": "Rose"}')).toEqual([200, { name: 'Rose' }]);
    expect(await post('plants', 'x'.repeat(300_000))).toMatchObject([400, { error: 41300 }]);
  });

  const listener = (): RequestListener => app.getHttpAdapter().getInstance() as RequestListener;

  function callWith(body: unknown): ReturnType<typeof callWithoutServer> {
    const sent = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : ((body ?? '') as string);
    const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(sent)) };
    return callWithoutServer(listener(), headers, body);
  }

  it.each([
    ['bytes', Buffer.from('{"id": 9007199254740993, "name": "Rose"}'), '9007199254740993'],
    ['a text', '{"id": 9007199254740993, "name": "Rose"}', '9007199254740993'],
    ['values', { id: 7, name: 'Rose' }, '7'],
  ])('should take the body from a platform without a server that gives %s', async (_what, body, id) => {
    await start({ bodyParser: false });
    expect(await callWith(body)).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    expect(await ids()).toEqual([id]);
  });

  it('should decompress what such a platform gives as bytes and in the stream', async () => {
    await start({ bodyParser: false });
    const bytes = gzipSync('{"id": 9007199254740993, "name": "Rose"}');
    const headers = {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'content-length': String(bytes.length),
    };
    expect(await callWithoutServer(listener(), headers, bytes, bytes)).toMatchObject({ status: 200 });
    expect(await ids()).toEqual(['9007199254740993']);
  });

  it.each([undefined, '40'])(
    'should say what to set for a text from there, if its length is said to be %s',
    async (length) => {
      await start({ bodyParser: false });
      const headers = { 'content-type': 'application/json', ...(length !== undefined && { 'content-length': length }) };
      const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      const answer = await callWithoutServer(listener(), headers, '{"id": 5, "name": "Rose"}');
      const logged = JSON.stringify(error.mock.calls);
      error.mockRestore();
      expect(JSON.parse(answer.body)).toMatchObject({ error: 50000 });
      expect(logged).toContain('Call exemptPlantsFromBodyParser()');
      expect(await ids()).toEqual([]);
    },
  );

  it('should find the credential and the idempotency key of a request without raw headers', async () => {
    const auth = AuthModule.forRoot({ accessTokens: [TOKEN] });
    await start({ bodyParser: false }, {}, { guards: [BearerAuthGuard], imports: [auth] });
    const text = '{"id": 1, "name": "Rose"}';
    const type = { 'content-type': 'application/json', 'content-length': String(text.length) };
    expect(await callWithoutServer(listener(), type, text)).toMatchObject({ status: 400 });
    const headers = { ...type, authorization: `Bearer ${TOKEN}`, 'idempotency-key': 'order-17' };
    for (let attempt = 1; attempt <= 2; attempt++)
      expect(await callWithoutServer(listener(), headers, text)).toMatchObject({ status: 200 });
    expect(await database.query('SELECT idempotency_key FROM plants')).toEqual([{ idempotency_key: 'order-17' }]);
  });

  it.each([
    ['a number that may have been rounded', { id: 2 ** 53, name: 'Rose' }, 40003],
    ['an array', [1], 40001],
    ['nothing', undefined, 40001],
    ['an empty text', '', 40001],
  ])('should refuse %s from there', async (_what, body, error) => {
    await start({ bodyParser: false });
    const answer = await callWith(body);
    expect([answer.status, JSON.parse(answer.body)]).toEqual([400, { error, message: expect.any(String) }]);
    expect(await ids()).toEqual([]);
  });
});

describe('the store in an application behind something that reads bodies first', () => {
  it.each<[string, (bytes: Buffer) => unknown]>([
    ['its bytes', (bytes) => bytes],
    ['its text', String],
    ['its object', (bytes) => JSON.parse(String(bytes)) as unknown],
  ])('should use a body that is left as %s', async (kept, keep) => {
    const database = await createTestDatabase();
    @Module({ imports: [PlantsModule.forRoot({ database: { url: database.url }, guards: 'none' })] })
    class HostModule {}
    const app = await NestFactory.create<NestExpressApplication>(HostModule, { bodyParser: false, logger: false });
    app.use(async (request: Request & AsyncIterable<Buffer>, _: unknown, next: () => void) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      Object.assign(request, { body: keep(Buffer.concat(chunks)) });
      next();
    });
    await app.listen(0, '127.0.0.1');
    const post = async (id: string): Promise<unknown> => {
      const headers = { 'Content-Type': 'application/json' };
      const init = { method: 'POST', headers, body: `{"id": ${id}, "name": "Rose"}` };
      return (await fetch(`${await app.getUrl()}/plants`, init)).json();
    };
    expect(await post('1')).toEqual({ name: 'Rose' });
    const rounded = { error: 40003, message: expect.stringContaining('rawBody: true') as unknown };
    expect(await post('9007199254740993')).toEqual(kept === 'its object' ? rounded : { name: 'Rose' });
    await app.close();
    await database.drop();
  });
});
