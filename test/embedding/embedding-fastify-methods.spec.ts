import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';

/** A host with a route for all methods of Fastify, and one for a method that it adds itself, behind the routes of Nest. */
class OwnRoutes implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.all('/everything', () => 'every method');
    fastify.addHttpMethod('LOCK', { hasBody: true });
    fastify.route({ method: 'LOCK', url: '/locks', handler: () => 'locked' });
  }
}

describe('the methods of a host on Fastify', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  interface Seen {
    methods: readonly string[];
    statuses: number[];
    warnings: string[];
    ofStore: number;
  }

  async function observe({ store }: { store: boolean }): Promise<Seen> {
    const guest = PlantsModule.forRoot({ database: { url: database.url }, guards: 'none', errorStatus: 'semantic' });
    const inject = [HttpAdapterHost];
    const useFactory = (host: HttpAdapterHost): OwnRoutes => new OwnRoutes(host);
    @Module({ imports: store ? [guest] : [], providers: [{ provide: OwnRoutes, inject, useFactory }] })
    class HostModule {}
    const warnings: string[] = [];
    const warn = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', warn);
    const app = await NestFactory.create<NestFastifyApplication>(HostModule, new FastifyAdapter(), { logger: false });
    await app.init();
    const fastify = app.getHttpAdapter().getInstance();
    const ask = async (method: string, url: string): Promise<number> => {
      const headers = { 'content-type': 'application/xml' };
      return (await fastify.inject({ method: method as 'GET', url, headers, payload: '<x/>' })).statusCode;
    };
    const statuses: number[] = [];
    for (const url of ['/unknown', '/everything', '/plants/1']) {
      for (const method of ['PROPFIND', 'SEARCH', 'TRACE']) statuses.push(await ask(method, url));
    }
    const seen = { methods: fastify.supportedMethods, statuses, warnings, ofStore: await ask('PROPFIND', '/plants') };
    process.off('warning', warn);
    await app.close();
    return seen;
  }

  it('should stay as they were, with all that it answers, if the store refuses more of them', async () => {
    const without = await observe({ store: false });
    expect(without).toMatchObject({ warnings: [], ofStore: 404 });
    expect(without.statuses.slice(0, 3)).toEqual([404, 404, 404]);
    expect(await observe({ store: true })).toEqual({ ...without, ofStore: 405 });
  });
});
