import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { PlantsHealth, PlantsModule } from 'plant-store';
import { HealthController } from './health.controller.js';

const { DATABASE_URL: url = '' } = process.env;

@Module({
  imports: [TerminusModule.forRoot({ logger: false }), PlantsModule.forRoot({ database: { url }, guards: 'none' })],
  controllers: [HealthController],
})
class HostModule {}

let app: INestApplication;

before(async () => {
  app = await NestFactory.create(HostModule, { logger: false });
  await app.listen(0, '127.0.0.1');
});
after(() => app.close());

async function health(): Promise<[status: number, details: unknown]> {
  const response = await fetch(`${await app.getUrl()}/health`);
  return [response.status, ((await response.json()) as { details: unknown }).details];
}

it('should be up while plants can be created', async () => {
  assert.deepEqual(await health(), [200, { plants: { status: 'up' } }]);
});

it('should be down, with the reason, while none can', async (t) => {
  t.mock.method(app.get(PlantsHealth), 'check', () => Promise.reject(new Error('the disk of the database is full')));
  assert.deepEqual(await health(), [503, { plants: { status: 'down', message: 'the disk of the database is full' } }]);
});
