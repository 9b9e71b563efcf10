import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { adapterOf } from '../support/host/adapter.js';
import { PLATFORMS } from '../support/host/platforms.js';

describe.each(PLATFORMS)('the store behind the body parser of a host on %s', (platform) => {
  let database: TestDatabase;
  let app: NestExpressApplication;
  let logged: string[];

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  async function start(rawBody: boolean): Promise<void> {
    @Module({ imports: [PlantsModule.forRoot({ database: { url: database.url }, bodyLimit: 1000, guards: 'none' })] })
    class HostModule {}
    logged = [];
    const error = (...line: unknown[]): unknown => logged.push(line.map(String).join(' '));
    const logger = { log: () => undefined, warn: () => undefined, error };
    app = await NestFactory.create<NestExpressApplication>(HostModule, adapterOf(platform), { rawBody, logger });
    await app.listen(0, '127.0.0.1');
  }

  async function post(body: string): Promise<unknown> {
    const headers = { 'Content-Type': 'application/json' };
    return (await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body })).json();
  }

  it('should read the raw body as strictly as a body of its own', async () => {
    await start(true);
    expect(await post('{"id": 9007199254740993, "name": "Rose"}')).toEqual({ name: 'Rose' });
    expect(await post('{"id": 1, "id": 1, "name": "Rose"}')).toMatchObject({ error: 40002 });
    expect(await post(`{"id": 1, "name": "${'x'.repeat(1000)}"}`)).toMatchObject({ error: 41300 });
    expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
    expect(logged).toEqual([]);
  });

  it('should not take what the parser has decoded, and say in the log what to do', async () => {
    await start(false);
    expect(await post('{"id": 1, "name": "Rose"}')).toMatchObject({ error: 50000 });
    expect(await database.query('SELECT id FROM plants')).toEqual([]);
    expect(logged).toEqual([expect.stringMatching(/exemptPlantsFromBodyParser\(app\).*`rawBody: true`/)]);
  });
});
