import { Logger } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';

const ACCESS_TOKEN = 'a-token-of-20-characters-or-more';
const JWT_SECRET = 'the-secret-of-this-test';
// DATABASE_URL is the caller's. The application reads its variables as soon as it is imported.
Object.assign(process.env, { ACCESS_TOKEN, JWT_SECRET, PORT: '0' });
Logger.overrideLogger(['error', 'warn']);
const { app } = await import('../../../dist/apps/garden/src/main.js');
const { PrismaService } = await import('../../../dist/libs/prisma/src/index.js');
const prisma = app.get(PrismaService);
const url = await app.getUrl();

const jwt = new JwtService({ secret: JWT_SECRET }).sign({ sub: 'ada' });

describe('the garden', () => {
  // As `prisma migrate deploy` does.
  before(async () => {
    const file = new URL('../../../prisma/migrations/20261128000000_create_orders/migration.sql', import.meta.url);
    await prisma.$executeRawUnsafe(await readFile(file, 'utf8'));
  });
  after(() => app.close());

  async function send(path, { token, body } = {}) {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
      body,
    });
    return { status: response.status, body: await response.json() };
  }

  it('should take an order of a user, and list it for this user only', async () => {
    const order = await send('/api/v1/orders', { token: jwt, body: '{"plant": "Rose", "quantity": 2}' });
    assert.deepEqual([order.status, order.body], [201, { number: 1, plant: 'Rose', quantity: 2 }]);
    assert.deepEqual((await send('/api/v1/orders', { token: jwt })).body, [order.body]);
    const other = new JwtService({ secret: JWT_SECRET }).sign({ sub: 'grace' });
    assert.deepEqual((await send('/api/v1/orders', { token: other })).body, []);
    assert.equal(await prisma.order.count(), 1);
  });

  it('should answer what is wrong with an order in its own way', async () => {
    const answer = await send('/api/v1/orders', { token: jwt, body: '{"plant": "", "unknown": "red"}' });
    assert.equal(answer.status, 400);
    assert.match(answer.body.message.join(), /unknown should not exist.*plant should not be empty.*quantity/);
  });

  it('should create a plant, with an id that JavaScript would round, and only once', async () => {
    // Any id will do that is not taken yet, and is beyond 2^53.
    const id = BigInt(Date.now()) * 1_000_000n + 1n;
    const body = `{"id": ${id}, "name": "Rose", "unknown": "red"}`;
    const created = await send('/api/v1/plants', { token: ACCESS_TOKEN, body });
    assert.deepEqual([created.status, created.body], [200, { name: 'Rose' }]);
    const again = await send('/api/v1/plants', { token: ACCESS_TOKEN, body });
    assert.match(again.body.message, new RegExp(`${id}`));
  });

  it('should take each credential on its own route only', async () => {
    const plant = await send('/api/v1/plants', { token: jwt, body: '{"id": 1, "name": "Rose"}' });
    assert.deepEqual([plant.status, plant.body.error], [400, 40101]);
    const orders = await send('/api/v1/orders', { token: ACCESS_TOKEN });
    assert.deepEqual([orders.status, orders.body.error], [401, 'Unauthorized']);
  });

  it('should describe the orders and the plants in one document', async () => {
    const { body } = await send('/reference-json');
    assert.deepEqual(body.paths['/api/v1/orders'].post.security, [{ jwt: [] }]);
    assert.deepEqual(body.paths['/api/v1/plants'].post.security, [{ bearer: [] }]);
    assert.deepEqual(Object.keys(body.components.securitySchemes).sort(), ['bearer', 'jwt']);
    const schemas = ['NewOrder', 'Order', 'PlantStoreError', 'PlantStoreNewPlant', 'PlantStorePlant'];
    assert.deepEqual(Object.keys(body.components.schemas).sort(), schemas);
  });
});
