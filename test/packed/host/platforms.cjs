// Prints what a create is answered with in hosts on unusual platforms, or why there is no host.
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ExpressAdapter } = require('@nestjs/platform-express');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const { PlantsModule } = require('plant-store');

const database = { url: process.env.DATABASE_URL };
class HostModule {}
Module({ imports: [PlantsModule.forRoot({ database, guards: 'none' })] })(HostModule);

const errors = [];
const logger = { log() {}, warn() {}, error: (...texts) => errors.push(texts.join(' ')) };
const create = (options, adapter) =>
  NestFactory.create(HostModule, adapter ?? new ExpressAdapter(), { logger, abortOnError: false, ...options });
let id = 9007199254740993n;
const body = () => `{"id": ${id++}, "name": "Rose"}`;

async function overHttp(app) {
  await app.listen(0, '127.0.0.1');
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body: body() });
  return answer.text();
}

async function onLambda(app, handlerOf) {
  await app.init();
  const requestContext = { http: { method: 'POST', path: '/plants', sourceIp: '192.0.2.1' }, stage: '$default' };
  const headers = { host: 'plants.example', 'content-type': 'application/json' };
  const event = { version: '2.0', rawPath: '/plants', rawQueryString: '', headers, requestContext, body: body() };
  const answer = await handlerOf(app.getHttpAdapter().getInstance())({ ...event, isBase64Encoded: false }, {});
  return answer.isBase64Encoded ? globalThis.Buffer.from(answer.body, 'base64').toString() : answer.body;
}

function expressWithRoute(express) {
  const application = express();
  application.get('/before', (_request, response) => response.send('before Nest'));
  return new ExpressAdapter(application);
}

async function onFastify(options, pluginOptions) {
  const app = await create(options, new FastifyAdapter());
  await app.register(require('fastify-raw-body'), pluginOptions);
  return overHttp(app);
}

const express4 = require('express4');
const HOSTS = {
  'Express 5 with a route before Nest': async () =>
    overHttp(await create({ rawBody: true }, expressWithRoute(require('express')))),
  'Express 4 with a route before Nest': async () =>
    overHttp(await create({ bodyParser: false }, expressWithRoute(express4))),
  'Express 4 with rawBody': async () => overHttp(await create({ rawBody: true }, new ExpressAdapter(express4()))),
  'Express 4 with a parser of its own': async () => {
    const verify = (request, _response, bytes) => void (request.rawBody = bytes);
    const adapter = new ExpressAdapter(express4().use(express4.json({ verify })));
    return overHttp(await create({ bodyParser: false }, adapter));
  },
  'Fastify without rawBody': async () => overHttp(await create({ bodyParser: false }, new FastifyAdapter())),
  'fastify-raw-body': () => onFastify({ bodyParser: false }, { global: true, encoding: false }),
  'fastify-raw-body, as text': () => onFastify({ bodyParser: false }, { global: true }),
  'fastify-raw-body, as text, beside rawBody': () => onFastify({ rawBody: true }, { global: true }),
  'serverless-http': async () => onLambda(await create({ rawBody: true }), require('serverless-http')),
  '@codegenie/serverless-express': async () =>
    onLambda(await create({ rawBody: true }), (app) => require('@codegenie/serverless-express')({ app })),
  '@fastify/aws-lambda': async () =>
    onLambda(await create({ rawBody: true }, new FastifyAdapter()), require('@fastify/aws-lambda')),
};

async function main() {
  const answers = {};
  for (const [name, start] of Object.entries(HOSTS)) {
    errors.length = 0;
    const answer = await start().catch((failure) => failure.message);
    const advice = /rawBody: true|encoding: false|deprecated/.exec([answer, ...errors].join());
    answers[name] = advice?.[0] ?? answer;
  }
  process.stdout.write(JSON.stringify(answers));
  // Nobody closes the hosts: the listeners alone would keep the process alive.
  process.exit();
}

void main();
