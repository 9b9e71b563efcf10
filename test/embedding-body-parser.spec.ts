import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, Module, type NestApplicationOptions, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { PlantsModule } from '../src/index.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

@Controller('echo')
class EchoController {
  @Post()
  echo(@Body() body: unknown): unknown {
    return body;
  }
}

describe('the store in an application with a body parser of its own', () => {
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

  async function start(options: NestApplicationOptions): Promise<void> {
    @Module({
      imports: [PlantsModule.forRoot({ database: { url: database.url }, bodyLimit: 1000 })],
      controllers: [EchoController],
    })
    class HostModule {}
    app = await NestFactory.create<NestExpressApplication>(HostModule, { ...options, logger: false });
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

  it('should know every number exactly where the raw body is kept', async () => {
    await start({ rawBody: true });
    expect(await post('plants', '{"id": 9007199254740993, "name": "Rose"}')).toEqual([200, { name: 'Rose' }]);
    expect(await post('plants', gzipSync('{"id": -9007199254740993, "name": "Fern"}'), 'gzip')).toMatchObject([
      200,
      {},
    ]);
    expect(await post('plants', '{"id": 1, "id": 1, "name": "Rose"}')).toMatchObject([400, { error: 40002 }]);
    expect(await post('plants', `{"id": 1, "name": "${'x'.repeat(1000)}"}`)).toMatchObject([400, { error: 41300 }]);
    expect(await ids()).toEqual(['-9007199254740993', '9007199254740993']);
  });

  it('should refuse a number that may have been rounded where it is not, and say what to switch on', async () => {
    await start({});
    expect(await post('plants', '{"id": 9007199254740991, "name": "Rose"}')).toEqual([200, { name: 'Rose' }]);
    for (const id of ['9007199254740992', '9007199254740993', '-9223372036854775808', '1e400']) {
      const message: unknown = expect.stringMatching(/^id .*`rawBody: true`/);
      expect(await post('plants', `{"id": ${id}, "name": "Rose"}`)).toEqual([400, { error: 40003, message }]);
    }
    expect(await ids()).toEqual(['9007199254740991']);
  });

  it('should refuse what is no plant all the same', async () => {
    await start({});
    expect(await post('plants', '{"id": 1.5, "name": [], "tag": null}')).toMatchObject([400, { error: 40003 }]);
    expect(await post('plants', '[]')).toMatchObject([400, { error: 40001 }]);
    expect(await post('plants', '')).toMatchObject([400, { error: 40001 }]);
    expect(await ids()).toEqual([]);
  });

  it('should leave the parser to the other routes', async () => {
    await start({});
    expect(await post('echo', '{"id": 1}')).toEqual([201, { id: 1 }]);
  });
});
