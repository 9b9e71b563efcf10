import { afterEach, describe, expect, it, jest } from '@jest/globals';
import express from 'express';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { endServer, portOf } from '../../test/support/http/free-port.js';
import { until } from '../../test/support/until.js';
import type { ResponseHook } from '../http/request-context.js';
import { adoptPrototypes } from './express-adapter.js';
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
    const created = createHttpServer(listener, options, hooks);
    adoptPrototypes(express(), created.classes);
    ({ server } = created);
    shutdown = new GracefulShutdown(server, created.connections, hooks, { DRAIN_DELAY: 0, SHUTDOWN_TIMEOUT: 60_000 });
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
