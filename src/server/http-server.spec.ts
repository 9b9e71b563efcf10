import { afterEach, describe, expect, it, jest } from '@jest/globals';
import express from 'express';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { endServer, portOf } from '../../test/support/http/free-port.js';
import { until } from '../../test/support/until.js';
import type { RequestObserver } from '../http/request-context.js';
import { expressClasses } from './express-adapter.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { createHttpServer } from './http-server.js';

const REQUEST_TIMEOUT = 1000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

// They fail too if Node no longer asks a request whether it is an upgrade, or keeps the parser of one that is.
describe(createHttpServer.name, () => {
  let server: Server;
  let shutdown: GracefulShutdown;
  let client: Socket;

  afterEach(async () => {
    client.destroy();
    await endServer(server);
  });

  async function open(
    listener: RequestListener,
    times: { REQUEST_TIMEOUT?: number; DRAIN_DELAY?: number } = {},
  ): Promise<void> {
    const observers: RequestObserver[] = [];
    const options = { ERROR_STATUS: 'contract' as const, REQUEST_TIMEOUT, ...times };
    const created = createHttpServer(listener, options, expressClasses(express(), observers));
    ({ server } = created);
    const limits = { DRAIN_DELAY: 0, SHUTDOWN_TIMEOUT: 60_000, STORAGE_TIMEOUT: 5000, ...times };
    shutdown = new GracefulShutdown(server, created.connections, limits);
    observers.push(shutdown);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    client = connect(portOf(server), '127.0.0.1').on('error', () => undefined);
    await once(server, 'connection');
  }

  /** Resolves to what the client gets, once it has as many answers. */
  async function answers(count: number): Promise<string> {
    let text = '';
    while (text.split('HTTP/1.1 200').length <= count) text += String(((await once(client, 'data')) as [Buffer])[0]);
    return text;
  }

  it('should begin one request of a connection at a time, give all others a turn between two, and lose no byte', async () => {
    let [inHand, turns, lastTurn, faults] = [0, 0, -1, 0];
    const lengths = [...Array<number>(80).fill(2), 0, 1, 70_000, 3, 300_000, 0, 16_384, 2];
    const received: number[] = [];
    const count = (): void => {
      turns += 1;
      if (received.length < lengths.length) setImmediate(count);
    };
    count();
    await open(
      (request, response) => {
        inHand += 1;
        if (inHand !== 1 || turns === lastTurn) faults += 1;
        lastTurn = turns;
        let length = 0;
        request.on('data', (chunk: Buffer) => (length += chunk.length));
        request.on('end', () => received.push(length) && response.end());
        response.on('finish', () => (inHand -= 1));
        // Without a wait for the body, the next request could begin in this turn.
        if (request.headers['content-length'] === '2') response.end();
      },
      { REQUEST_TIMEOUT: 60_000 },
    );
    const requests = lengths.map(
      (length) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}`,
    );
    client.write(requests.join(''));
    await answers(lengths.length);
    expect({ received, faults }).toEqual({ received: lengths, faults: 0 });
  });

  it('should leave an answer all the time that it takes', async () => {
    await open((_request, response) => {
      setTimeout(() => response.end('late'), 2 * REQUEST_TIMEOUT);
    });
    client.write(REQUEST);
    expect(await answers(1)).toContain('late');
  });

  it('should, at a stop, answer all requests that came in one go, and end the connection with the last', async () => {
    await open((request, response) => setImmediate(() => response.end(`<${String(request.url)}>`)), {
      DRAIN_DELAY: 1000,
    });
    const all = answers(4);
    client.write(REQUEST);
    await once(client, 'data');
    const closing = shutdown.close();
    client.write(['/1', '/2', '/3'].map((path) => REQUEST.replace('/', path)).join(''));
    const found = (await all).split('HTTP/1.1 200 OK').slice(1);
    await closing;
    expect(found.map((answer) => /<.*>/.exec(answer)?.[0])).toEqual(['</>', '</1>', '</2>', '</3>']);
    const connections = found.map((answer) => /Connection: (.*)\r/.exec(answer)?.[1]);
    expect(connections).toEqual([...Array<string>(3).fill('keep-alive'), 'close']);
  });

  it('should answer 100 requests that came in one go, end with the last, and drop all that is behind them', async () => {
    const urls: unknown[] = [];
    await open((request, response) => {
      urls.push(request.url);
      setImmediate(() => response.end());
    });
    const handedOver = jest.fn();
    server.on('request', handedOver);
    const all = answers(100);
    client.write(Array.from({ length: 20_000 }, (_, at) => REQUEST.replace('/', `/${at}`)).join(''));
    const found = (await all).split('HTTP/1.1 200 OK').slice(1);
    if (!client.readableEnded) await once(client, 'end');
    expect(urls).toEqual(Array.from({ length: 100 }, (_, at) => `/${at}`));
    const connections = found.map((answer) => /Connection: (.*)\r/.exec(answer)?.[1]);
    expect(connections).toEqual([...Array<string>(99).fill('keep-alive'), 'close']);
    expect(handedOver).toHaveBeenCalledTimes(100);
  });

  it('should go on with exactly 100, and with more that come one after the other', async () => {
    await open((_request, response) => setImmediate(() => response.end()));
    for (let round = 0; round < 3; round += 1) {
      const all = answers(100);
      client.write(REQUEST.repeat(100));
      expect(await all).not.toContain('Connection: close');
    }
  });

  it('should send answers of any size before it ends a connection with too many requests', async () => {
    const large = 'x'.repeat(3_000_000);
    await open((_request, response) => {
      if (response.write(large)) response.end();
      else response.once('drain', () => response.end());
    });
    let length = 0;
    client.on('data', (bytes: Buffer) => (length += bytes.length));
    client.write(REQUEST.repeat(200));
    await once(client, 'end');
    expect(Math.floor(length / large.length)).toBe(100);
  });

  it('should cut off a client that does not read the answers to too many requests', async () => {
    await open((_request, response) => response.end('x'.repeat(1_000_000)));
    client.pause().write(REQUEST.repeat(200));
    const [socket] = (await once(server, 'timeout')) as [Socket];
    if (!socket.closed) await once(socket, 'close');
  });

  it('should begin and make no request behind an answer that ends the connection', async () => {
    const urls: unknown[] = [];
    await open((request, response) => {
      urls.push(request.url);
      if (request.url === '/1') response.setHeader('Connection', 'close');
      setImmediate(() => response.end());
    });
    const handedOver = jest.fn();
    server.on('request', handedOver);
    client.resume().write(REQUEST + REQUEST.replace('/', '/1') + REQUEST.repeat(50));
    await once(client, 'end');
    expect(urls).toEqual(['/', '/1']);
    handedOver.mockClear();
    const [socket] = (
      await Promise.all([once(server, 'connection'), once((client = connect(portOf(server), '127.0.0.1')), 'connect')])
    )[0] as [Socket];
    client
      .on('error', () => undefined)
      .resume()
      .write('GET / HTTP/1.1\r\n\r\n'.repeat(20_000));
    await once(socket, 'close');
    expect(handedOver).toHaveBeenCalledTimes(1);
  });

  // The last, as Node takes a second for their end.
  it('should hold a limited number of requests for all connections', async () => {
    await open(() => undefined, { REQUEST_TIMEOUT: 60_000 });
    const handedOver = jest.fn();
    server.on('request', handedOver);
    const served: Socket[] = [];
    server.on('connection', (socket) => served.push(socket));
    const clients = Array.from({ length: 220 }, () => connect(portOf(server), '127.0.0.1'));
    await Promise.all(
      clients.map(
        (each) => new Promise((resolve) => each.on('error', () => undefined).write(REQUEST.repeat(100), resolve)),
      ),
    );
    const sent = 100 * REQUEST.length * clients.length;
    await until(() => served.reduce((sum, { bytesRead }) => sum + bytesRead, 0) === sent);
    // In hand, and one that waits, of each.
    expect(handedOver.mock.calls.length).toBeLessThan(20_000 + 2 * clients.length);
    for (const each of [...clients, ...served]) each.destroy();
  });
});
