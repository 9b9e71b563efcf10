import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Stopwatch } from '../../../test/support/stopwatch.js';
import { AcceptFirst } from './accept-first.js';
import { type CloseTimes, GracefulClose } from './graceful-close.js';
import { createHttpServer } from './http-server.js';

const LONGER_THAN_THE_GRACE_MS = 2300;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe(GracefulClose.name, () => {
  let server: Server;
  let graceful: GracefulClose;
  const clients: Socket[] = [];

  async function listen(listener: RequestListener, times: Partial<CloseTimes> = {}): Promise<void> {
    const acceptFirst = new AcceptFirst(listener);
    server = createHttpServer(
      (request, response) => {
        acceptFirst.begin(request, response);
      },
      { errorStatus: 'contract', requestTimeout: 10_000 },
    );
    acceptFirst.watch(server);
    graceful = new GracefulClose(server, acceptFirst, {
      drainDelay: 0,
      shutdownTimeout: 10_000,
      storageTimeout: 5000,
      ...times,
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  async function open(): Promise<{ client: Socket; text: () => string; closed: Promise<unknown> }> {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    clients.push(client);
    let text = '';
    client.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)));
    client.on('error', (error) => (text += error.message));
    const closed = once(client, 'close');
    await once(client, 'connect');
    return { client, text: () => text, closed };
  }

  beforeEach(() => {
    clients.length = 0;
  });
  afterEach(() => {
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    server.close();
  });

  it('should wait no longer than its limit for requests in flight', async () => {
    await listen(() => undefined, { shutdownTimeout: 100 });
    const { client, closed } = await open();
    client.write(REQUEST);
    await once(server, 'request');

    await graceful.close();
    expect(server.listening).toBe(false);
    await closed;
  });

  it('should end at once, without connections or before it listens', async () => {
    await listen(() => undefined, { shutdownTimeout: 60_000 });
    using stopwatch = new Stopwatch();
    await graceful.close();
    await graceful.close();
    expect(stopwatch.elapsed).toBeLessThan(500);
  });

  it('should answer each of several requests that came in one go, and say with the last that the connection ends', async () => {
    const answer: RequestListener = (request, response) =>
      void setImmediate(() => response.end(`<${String(request.url)}>`));
    await listen(answer, { drainDelay: 200 });
    const { client, text, closed } = await open();
    client.write(REQUEST);
    await once(client, 'data');
    const closing = graceful.close();
    client.write(['/1', '/2', '/3'].map((path) => REQUEST.replace('/', path)).join(''));
    await closed;
    await closing;

    const answers = text().split('HTTP/1.1 200 OK').slice(1);
    expect(answers.map((answer) => /<.*>/.exec(answer)?.[0])).toEqual(['</>', '</1>', '</2>', '</3>']);
    expect(answers.map((answer) => /Connection: (.*)\r/.exec(answer)?.[1])).toEqual([
      ...Array<string>(3).fill('keep-alive'),
      'close',
    ]);
  });

  it('should end a connection whose client sends the next request before it has the answer', async () => {
    const answer: RequestListener = (request, response) =>
      void setImmediate(() => response.end(`<${String(request.url)}>`));
    await listen(answer);
    const { client, text, closed } = await open();
    const send = (): unknown => client.writable && client.write(REQUEST);
    client.write(REQUEST + REQUEST);
    client.on('data', send);
    await once(client, 'data');
    using stopwatch = new Stopwatch();
    await graceful.close();
    await closed;
    expect(stopwatch.elapsed).toBeLessThan(LONGER_THAN_THE_GRACE_MS);
    expect(text()).not.toMatch(/ECONNRESET/);
    expect(text()).toMatch(/Connection: close\r[^]*<\/>$/);
  });

  it('should not cut off an answer that is ready and that its client has yet to take', async () => {
    const size = 30_000_000;
    await listen((_request, response) => response.end(Buffer.alloc(size, 'x')), { shutdownTimeout: 60_000 });
    const { client, text, closed } = await open();
    client.write(REQUEST);
    await once(client, 'data');
    client.pause();
    const closing = graceful.close();
    await sleep(LONGER_THAN_THE_GRACE_MS);
    client.resume();
    await closed;
    await closing;
    expect(text().length).toBeGreaterThan(size);
  });
});
