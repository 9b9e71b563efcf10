import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestObserver } from '../../http/request-context.js';
import { expressClasses } from './express-adapter.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { createHttpServer } from './http-server.js';

const LONGER_THAN_THE_GRACE_MS = 2300;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe(GracefulShutdown.name, () => {
  let server: Server;
  let shutdown: GracefulShutdown;
  let client: Socket;

  afterEach(() => {
    client.destroy();
    server.closeAllConnections();
  });

  async function open(
    listener: RequestListener,
    drainDelay = 0,
  ): Promise<{ text: () => string; closed: Promise<unknown> }> {
    const observers: RequestObserver[] = [];
    const classes = expressClasses(express(), observers);
    const created = createHttpServer(listener, { errorStatus: 'contract', requestTimeout: 10_000 }, classes);
    ({ server } = created);
    shutdown = new GracefulShutdown(server, created.queue, {
      drainDelay,
      shutdownTimeout: 60_000,
      storageTimeout: 5000,
    });
    observers.push(shutdown);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    client.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)));
    client.on('error', (error) => (text += error.message));
    await once(client, 'connect');
    return { text: () => text, closed: once(client, 'close') };
  }

  it('should answer each of several requests that came in one go, and say with the last that the connection ends', async () => {
    const { text, closed } = await open((request, response) => {
      setImmediate(() => response.end(`<${String(request.url)}>`));
    }, 1000);
    client.write(REQUEST);
    await once(client, 'data');
    const closing = shutdown.close();
    client.write(['/1', '/2', '/3'].map((path) => REQUEST.replace('/', path)).join(''));
    await closed;
    await closing;

    const answers = text().split('HTTP/1.1 200 OK').slice(1);
    expect(answers.map((answer) => /<.*>/.exec(answer)?.[0])).toEqual(['</>', '</1>', '</2>', '</3>']);
    const connections = answers.map((answer) => /Connection: (.*)\r/.exec(answer)?.[1]);
    expect(connections).toEqual([...Array<string>(3).fill('keep-alive'), 'close']);
  });

  it('should not cut off an answer that is ready and that its client has yet to take', async () => {
    const size = 30_000_000;
    const { text, closed } = await open((_request, response) => response.end(Buffer.alloc(size, 'x')));
    client.write(REQUEST);
    await once(client, 'data');
    client.pause();
    const closing = shutdown.close();
    await sleep(LONGER_THAN_THE_GRACE_MS);
    client.resume();
    await closed;
    await closing;
    expect(text().length).toBeGreaterThan(size);
  });
});
