import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PlantsModule } from '../../src/index.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { adapterOf, PLATFORMS, RecordingLogger } from '../support/host/host.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';
import { postHead, requestHead } from '../support/http/request.js';
import { startStore, type Store } from '../support/service/store.js';

const NEW_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const PLANT = '{"id":1,"name":"Rose"}';
const ANONYMOUS = { Authorization: undefined };

describe('X-Request-Id', () => {
  let store: Store;

  beforeAll(async () => {
    store = await startStore();
  });
  afterAll(() => store.stop());

  async function answer(bytes: string): Promise<RawResponse | undefined> {
    using connection = await RawConnection.open(store.port);
    connection.send(bytes);
    return await connection.response();
  }

  it.each([
    ['a plant', postHead('', PLANT) + PLANT, 200],
    ['a taken id', postHead('', PLANT) + PLANT, 400],
    ['a missing credential', postHead('', PLANT, ANONYMOUS) + PLANT, 400],
    ['an unknown path', requestHead('GET /trees HTTP/1.1'), 400],
    ['another method', requestHead('DELETE /plants HTTP/1.1'), 400],
    ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n', 400],
    ['a missing Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['headers that are too large', requestHead('GET / HTTP/1.1', { Cookie: 'x'.repeat(20_000) }), 400],
    ['an unknown expectation', requestHead('POST /plants HTTP/1.1', { Expect: 'wonders' }), 400],
    ['CONNECT', requestHead('CONNECT example.org:443 HTTP/1.1'), 400],
    ['the document', requestHead('GET /openapi.json HTTP/1.1', ANONYMOUS), 200],
    ['Swagger UI', requestHead('GET /docs/ HTTP/1.1', ANONYMOUS), 200],
  ])('should be on the answer to %s', async (_what, bytes, status) => {
    const ids = [];
    for (let i = 0; i < 2; i++) {
      const response = await answer(bytes);
      if (i === 0) expect(response?.status).toBe(status);
      ids.push(response?.headers['x-request-id']);
    }
    expect(ids).toEqual([expect.stringMatching(NEW_ID), expect.stringMatching(NEW_ID)]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it.each(['/plants', '/trees', '/docs/'])('should be the one of the request, at %s', async (path) => {
    const response = await answer(requestHead(`GET ${path} HTTP/1.1`, { 'X-Request-Id': 'chosen:by-the.client_1' }));
    expect(response?.headers['x-request-id']).toBe('chosen:by-the.client_1');
  });

  it.each(['a b', '"', 'é', 'x'.repeat(129), ['a', 'b']])('should be a new one in place of %j', async (id) => {
    const response = await answer(requestHead('GET /trees HTTP/1.1', { 'X-Request-Id': id }));
    expect(response?.headers['x-request-id']).toMatch(NEW_ID);
  });
});

describe.each(PLATFORMS)('X-Request-Id that a host on %s has set', (platform) => {
  it("should be that of the answer and of the store's line in the log", async () => {
    const database = await createTestDatabase();
    @Module({ imports: [PlantsModule.forRoot({ database: { url: database.url }, guards: 'none' })] })
    class HostModule {}
    const logger = new RecordingLogger();
    const app = await NestFactory.create(HostModule, adapterOf(platform), {
      logger,
      abortOnError: false,
      rawBody: true,
    });
    try {
      if (platform === 'express') {
        app.use((_request: IncomingMessage, response: ServerResponse, next: () => void) => {
          response.setHeader('X-Request-Id', 'of-the-host');
          next();
        });
      } else {
        const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
        fastify.addHook('onRequest', (_request, reply, done) => {
          void reply.header('X-Request-Id', 'of-the-host');
          done();
        });
      }
      await app.listen(0, '127.0.0.1');
      const create = async (): Promise<Response> =>
        fetch(`${await app.getUrl()}/plants`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-Request-Id': 'of-the-client' },
          body: PLANT,
        });
      expect((await create()).headers.get('x-request-id')).toBe('of-the-host');
      await database.query('ALTER TABLE plants RENAME TO lost_plants');
      expect((await create()).headers.get('x-request-id')).toBe('of-the-host');
      expect(logger.entries.filter(({ level }) => level === 'error')).toMatchObject([
        { details: [expect.objectContaining({ error: 50000, requestId: 'of-the-host' }), expect.any(String)] },
      ]);
    } finally {
      await app.close();
      await database.drop();
    }
  });
});
