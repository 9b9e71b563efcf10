import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Module, Post, Put, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { exemptPlantsFromBodyParser, PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { adapterOf } from '../support/host/adapter.js';
import { PLATFORMS } from '../support/host/platforms.js';

/** What a host may have at the path of the store, in a version of its own. */
@Controller({ path: 'plants', version: '2' })
class PlantsOfTheHostController {
  @Post()
  create(@Body() body: unknown): unknown {
    return { created: body };
  }

  @Put()
  replace(@Body() body: unknown): unknown {
    return { replaced: body };
  }
}

describe.each(PLATFORMS)('the store as one version of a path, chosen by a header, on %s', (platform) => {
  describe.each([true, false])('with the plant route exempt from the body parser: %s', (exempt) => {
    let database: TestDatabase;
    let app: NestExpressApplication;

    beforeAll(async () => {
      database = await createTestDatabase();

      @Module({
        imports: [PlantsModule.forRoot({ database: { url: database.url }, guards: 'none', version: '1' })],
        controllers: [PlantsOfTheHostController],
      })
      class HostModule {}
      const adapter = adapterOf(platform);
      const options = { logger: false, abortOnError: false, rawBody: true } as const;
      app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, options);
      if (exempt) exemptPlantsFromBodyParser(app);
      app.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version' });
      await app.listen(0, '127.0.0.1');
    });
    afterAll(async () => {
      await app.close();
      await database.drop();
    });

    async function send(method: string, version: string, body: string): Promise<[status: number, body: unknown]> {
      const { port } = app.getHttpServer().address() as AddressInfo;
      const headers = { 'Content-Type': 'application/json', 'X-Version': version };
      const response = await fetch(`http://127.0.0.1:${port}/plants`, { method, headers, body });
      return [response.status, await response.json()];
    }

    it('should answer in its own version', async () => {
      expect(await send('POST', '1', '{"id": 9007199254740993, "name": "Rose"}')).toEqual([200, { name: 'Rose' }]);
      expect(await database.query('SELECT id FROM plants')).toEqual([{ id: '9007199254740993' }]);
      expect(await send('PUT', '1', '{}')).toMatchObject([404, { message: 'Cannot PUT /plants' }]);
    });

    it('should leave the others to the host, and their bodies, but for that of POST on Express', async () => {
      const created = exempt && platform === 'express' ? {} : { created: { id: 1 } };
      expect(await send('POST', '2', '{"id": 1}')).toEqual([201, created]);
      expect(await send('PUT', '2', '{"id": 1}')).toEqual([200, { replaced: { id: 1 } }]);
      expect(await send('POST', '3', '{"id": 1}')).toMatchObject([404, { message: 'Cannot POST /plants' }]);
    });
  });
});
