// A host of the store as built into dist/: creates one plant, and prints "created".
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { PlantsModule, PlantsService } = require('../../../dist/index.js');

// As an SDK of another copy of the API leaves it.
if (process.env.REGISTERED) globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.9.1', trace: {} };

class HostModule {}
Module({ imports: [PlantsModule.forRoot({ database: { url: process.env.DATABASE_URL }, guards: 'none' })] })(
  HostModule,
);

async function run() {
  const app = await NestFactory.create(HostModule, { logger: false, abortOnError: false });
  await app.init();
  await app.get(PlantsService, { strict: false }).create({ id: 1n, name: 'Rose' });
  await app.close();
  console.log('created');
}
void run();
