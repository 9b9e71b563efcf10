import { type INestApplication, Module } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
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

const onExpress = (options: object, application: express.Express): Promise<INestApplication> =>
  create(options, new ExpressAdapter(application.get('/before', (_, response) => void response.send('before Nest'))));
const verify = (request: object, _response: object, rawBody: Buffer) => Object.assign(request, { rawBody });
const parser = express4.json({ verify });

async function onFastify(options: object, plugin?: object): Promise<INestApplication> {
  const adapter = new FastifyAdapter();
  const app = await create(options, adapter);
  if (plugin) await adapter.register(fastifyRawBody as never, plugin);
  return app;
}

const BY_STORE = { bodyParser: false };
const CREATED = { name: 'Rose' };
const REFUSED = { error: 50000 };

describe('the store on an unusual platform', () => {
  let id = 1;

  it.each<[platform: string, start: () => Promise<INestApplication>, answer: object, advice?: string]>([
    ['Express 5 with a route before Nest', () => onExpress({ rawBody: true }, express()), CREATED],
    ['Express 4 with a route before Nest', () => onExpress(BY_STORE, express4()), CREATED],
    ['Express 4 with a parser that keeps the bytes', () => onExpress(BY_STORE, express4().use(parser)), CREATED],
    ['Fastify without rawBody', () => onFastify(BY_STORE), REFUSED, 'rawBody: true'],
    ['fastify-raw-body', () => onFastify(BY_STORE, { global: true, encoding: false }), CREATED],
    ['fastify-raw-body, as text', () => onFastify(BY_STORE, { global: true }), REFUSED, 'encoding: false'],
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
