import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createHttpServer } from './http-server.js';

const REQUEST_TIMEOUT = 200;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe(createHttpServer.name, () => {
  let server: Server;

  afterEach(async () => {
    server.closeAllConnections();
    if (server.listening) await once(server.close(), 'close');
  });

  async function open(listener: RequestListener, requestTimeout = REQUEST_TIMEOUT): Promise<Socket> {
    server = createHttpServer(listener, { errorStatus: 'contract', requestTimeout });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    return client;
  }

  it('should give up a client that takes nothing of its answer', async () => {
    const client = await open((_request, response) => response.end(Buffer.alloc(50_000_000)));
    const connected = once(server, 'connection') as Promise<[Socket]>;
    client.write(REQUEST + REQUEST);
    const [connection] = await connected;
    await once(connection, 'close');
    client.destroy();
  });

  it('should leave a client the time to take its answer with pauses', async () => {
    const size = 20_000_000;
    // Longer than a busy machine keeps a client from taking anything.
    const timeout = 5 * REQUEST_TIMEOUT;
    const client = await open((_request, response) => {
      response.setHeader('Connection', 'close');
      response.end(Buffer.alloc(size));
    }, timeout);
    client.write(REQUEST);
    let taken = 0;
    client.on('data', (chunk: Buffer) => {
      taken += chunk.length;
      if (taken % 10 !== 0) return;
      client.pause();
      setTimeout(() => client.resume(), timeout / 20);
    });
    await once(client, 'close');
    expect(taken).toBeGreaterThan(size);
  });

  it('should leave an answer all the time that it takes', async () => {
    const client = await open((_request, response) => {
      setTimeout(() => response.end('late'), 4 * REQUEST_TIMEOUT);
    });
    client.write(REQUEST);
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString()).toContain('late');
    client.destroy();
  });
});
