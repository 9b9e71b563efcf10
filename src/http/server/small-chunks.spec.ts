import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { discardBody } from '../body-bytes.js';
import { createHttpServer } from './http-server.js';
import { watchChunks } from './small-chunks.js';

const CONNECTIONS = 10;
/** Without a share for small chunks the event loop reads tens of thousands of them before it comes to the next answer. */
const MAX_CHUNKS_PER_ANSWER = 5000;
const ANSWERS = 200;

describe(watchChunks.name, () => {
  let server: Server;
  const clients = new Set<Socket>();

  beforeEach(async () => {
    const listener: RequestListener = (request, response) => {
      if (request.url === '/refused') discardBody(request);
      else if (request.url === '/taken') {
        request.resume().on('end', () => response.end());
        return;
      }
      response.end();
    };
    server = createHttpServer(listener, { errorStatus: 'contract', requestTimeout: 20_000 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    await once(server.close(), 'close');
  });

  function open(): Socket {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    clients.add(client);
    return client.on('error', () => undefined).once('close', () => clients.delete(client));
  }

  const requestOf = (path: string, chunks: number, size = 1): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n` +
    `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`.repeat(chunks) +
    '0\r\n\r\n';

  it.each([
    ['that are long', '/taken', 100_000],
    ['that have 900 chunks', '/taken', 900],
    ['that have 900 chunks and are refused', '/refused', 900],
    ['that are too long to be drained', '/refused', 5000],
  ])('should leave other requests most of the time during bodies in chunks of one byte %s', async (_, path, chunks) => {
    const request = requestOf(path, chunks);
    const before = bytesRead(server);
    let answers = 0;
    const send = async (): Promise<void> => {
      while (answers < ANSWERS) {
        const client = open().resume();
        for (let isOpen = true; isOpen && answers < ANSWERS; isOpen = !client.closed) {
          client.write(request);
          await Promise.race([once(client, 'data'), once(client, 'close')]).catch(() => undefined);
        }
      }
    };
    const sending = Array.from({ length: CONNECTIONS }, send);
    const client = open();
    while (answers < ANSWERS) {
      client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(client, 'data');
      answers += 1;
    }
    const sent = before();
    for (const one of clients) one.destroy();
    await Promise.all(sending);
    expect(sent / 6 / ANSWERS).toBeLessThan(MAX_CHUNKS_PER_ANSWER);
  });

  it('should let a body in pieces of 20 bytes through', async () => {
    const client = open();
    client.write(requestOf('/taken', 50_000, 20));
    expect(String(await once(client, 'data'))).toMatch(/^HTTP\/1.1 200/);
  });
});

/** Counts the bytes that all connections of a server read from now on. */
function bytesRead(server: Server): () => number {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  return () => [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0);
}
