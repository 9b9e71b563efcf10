import { afterEach, describe, expect, it, jest } from '@jest/globals';
import express from 'express';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { endServer, portOf } from '../../test/support/http/free-port.js';
import { until } from '../../test/support/until.js';
import type { ResponseHook } from '../http/request-context.js';
import { expressClasses } from './express-adapter.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { createHttpServer } from './http-server.js';

const REQUEST_TIMEOUT = 1000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe(createHttpServer.name, () => {
  let server: Server;
  let shutdown: GracefulShutdown;
  let client: Socket;

  afterEach(async () => {
    client.destroy();
    await endServer(server);
  });

  async function open(listener: RequestListener): Promise<void> {
    const hooks: ResponseHook[] = [];
    const options = { ERROR_STATUS: 'contract' as const, REQUEST_TIMEOUT, MAX_CONNECTIONS: 10 };
    const created = createHttpServer(listener, options, expressClasses(express(), hooks));
    ({ server } = created);
    const limits = { DRAIN_DELAY: 0, SHUTDOWN_TIMEOUT: 60_000, STORAGE_TIMEOUT: 5000 };
    shutdown = new GracefulShutdown(server, created.connections, limits);
    hooks.push(shutdown);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    client = connect(portOf(server), '127.0.0.1').on('error', () => undefined);
    await once(server, 'connection');
  }

  // It fails too if Node no longer asks a request whether it is an upgrade, or keeps the parser of one that is.
  it.each<[what: string, listener: RequestListener]>([
    ['without an answer', () => undefined],
    ['answered at once', (_request, response) => response.end()],
  ])('should hand over 32 of the requests that come in one go, and make no more: %s', async (_, listener) => {
    await open(listener);
    const handedOver = jest.fn();
    server.on('request', handedOver);
    client.resume().write(REQUEST.repeat(20_000));
    await until(() => client.closed);
    expect(handedOver).toHaveBeenCalledTimes(32);
  });

  it('should make no request of what comes behind one that ends its connection, and send the answer', async () => {
    await open((_request, response) => response.end());
    const handedOver = jest.fn();
    server.on('request', handedOver);
    client.write(`GET / HTTP/1.1\r\n\r\n${REQUEST.repeat(20_000)}`);
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(String(answer)).toContain('"error":40010');
    await until(() => client.closed);
    expect(handedOver).toHaveBeenCalledTimes(1);
  });

  it('should begin what comes in one go at once, and lose no byte of it', async () => {
    const lengths = [2, 0, 1, 70_000, 3, 300_000, 0, 16_384, 2];
    const received: number[] = [];
    await open((request, response) => {
      let length = 0;
      request.on('data', (chunk: Buffer) => (length += chunk.length));
      // The first answer is ready last.
      request.on('end', () => {
        received.push(length);
        void until(() => received.length === lengths.length).then(() => response.end());
      });
    });
    const bodies = lengths.map((length) => `Content-Length: ${length}\r\n\r\n${'x'.repeat(length)}`);
    client.write(bodies.map((body) => `POST / HTTP/1.1\r\nHost: x\r\n${body}`).join(''));
    await once(client, 'data');
    expect(received).toEqual(lengths);
  });

  it('should, at a stop, answer all requests that came in one go, and end the connection with the last', async () => {
    const urls: unknown[] = [];
    await open(({ url }, response) => {
      urls.push(url);
      void until(() => !server.listening).then(() => response.end());
    });
    let text = '';
    client.setEncoding('latin1').on('data', (part: string) => (text += part));
    client.write(['/1', '/2', '/3'].map((path) => REQUEST.replace('/', path)).join(''));
    await until(() => urls.length === 3);
    await Promise.all([shutdown.close(), once(client, 'end')]);
    expect(Array.from(text.matchAll(/^Connection: (.*)\r$/gm), ([, found]) => found)).toEqual([
      ...['keep-alive', 'keep-alive', 'close'],
    ]);
  });

  it('should cut off a client that does not read its answers', async () => {
    await open((_request, response) => response.end('x'.repeat(1_000_000)));
    client.pause().write(REQUEST.repeat(20));
    const [socket] = (await once(server, 'timeout')) as [Socket];
    if (!socket.closed) await once(socket, 'close');
  });

  it('should cut off a client that was refused and does not close its half', async () => {
    await open(() => undefined);
    client.destroy();
    client = connect({ port: portOf(server), host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
    client.resume().write('no HTTP\r\n\r\n');
    const [served] = (await once(server, 'connection')) as [Socket];
    await once(client, 'end');
    if (!served.closed) await once(served, 'close');
  });
});
