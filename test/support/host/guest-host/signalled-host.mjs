import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { PlantsModule } from '../../../../dist/index.js';

/** An application with shutdown hooks, and the store if a URL is given, that tells how it ends by a signal. */
const [platform, url] = process.argv.slice(2);

class HostModule {
  onModuleDestroy() {
    console.log('module destroy');
  }

  beforeApplicationShutdown(signal) {
    console.log(`before application shutdown ${signal}`);
  }

  onApplicationShutdown(signal) {
    console.log(`application shutdown ${signal}`);
  }
}
Module({ imports: url === undefined ? [] : [PlantsModule.forRoot({ database: { url }, guards: 'none' })] })(HostModule);

const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
const app = await NestFactory.create(HostModule, adapter, { logger: false });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) console.log(`${name}: ${process.listenerCount(name)}`);
process.kill(process.pid, 'SIGTERM');
