import { type INestApplication, Module } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express4 from 'express4';
import fastifyRawBody from 'fastify-raw-body';
import { PlantsModule } from 'plant-store';

@Module({ imports: [PlantsModule.forRoot({ database: { url: process.env.DATABASE_URL ?? '' }, guards: 'none' })] })
class HostModule {}

const errors: string[] = [];
const ignore = () => undefined;
const logger = { log: ignore, warn: ignore, error: (...texts: string[]) => errors.push(texts.join(' ')) };
const create = (options: object, adapter: AbstractHttpAdapter): Promise<INestApplication> =>
  NestFactory.create(HostModule, adapter, { logger, abortOnError: false, ...options });

const verify = (request: object, _response: object, rawBody: Buffer) => Object.assign(request, { rawBody });
const parser = express4.json({ verify });

async function onFastify(plugin: object): Promise<INestApplication> {
  const adapter = new FastifyAdapter();
  const app = await create(BY_STORE, adapter);
  await adapter.register(fastifyRawBody as never, plugin);
  return app;
}

const BY_STORE = { bodyParser: false };
const CREATED = { name: 'Rose' };
const REFUSED = { error: 50000 };

describe('the store on an unusual platform', () => {
  let id = 1;

  it.each<[platform: string, start: () => Promise<INestApplication>, answer: object, advice?: string]>([
    ['Express 4', () => create(BY_STORE, new ExpressAdapter(express4())), CREATED],
    ['a parser that keeps the bytes', () => create(BY_STORE, new ExpressAdapter(express4().use(parser))), CREATED],
    ['fastify-raw-body', () => onFastify({ global: true, encoding: false }), CREATED],
    ['fastify-raw-body, as text', () => onFastify({ global: true }), REFUSED, 'encoding: false'],
  ])('should create plants, or say what does: %s', async (_, start, answer, advice = '') => {
    errors.length = 0;
    const app = await start();
    await app.listen(0, '127.0.0.1');
    const headers = { 'Content-Type': 'application/json' };
    const body = `{"id": ${id++}, "name": "Rose"}`;
    const response = await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body });
    expect(await response.json()).toMatchObject(answer);
    expect(errors.join()).toContain(advice);
    await app.close();
  });
});
