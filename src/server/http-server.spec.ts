import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RequestMethod } from '@nestjs/common';
import express from 'express';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { endServer, portOf } from '../../test/support/http/free-port.js';
import { until } from '../../test/support/until.js';
import { readEnvironment } from '../config/configuration.js';
import type { ResponseHook } from '../http/request-context.js';
import { expressClasses, PlantStoreAdapter } from './express-adapter.js';
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

  async function open(listener: RequestListener, requestTimeout = REQUEST_TIMEOUT): Promise<void> {
    const hooks: ResponseHook[] = [];
    const options = { ERROR_STATUS: 'contract' as const, REQUEST_TIMEOUT: requestTimeout };
    const created = createHttpServer(listener, options, expressClasses(express(), hooks));
    ({ server } = created);
    const limits = { DRAIN_DELAY: 0, SHUTDOWN_TIMEOUT: 60_000, STORAGE_TIMEOUT: 5000 };
    shutdown = new GracefulShutdown(server, created.connections, limits);
    hooks.push(shutdown);
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

  /** What each answer says of the connection behind it. */
  const connectionsIn = (found: string[]): unknown[] => found.map((answer) => /Connection: (.*)\r/.exec(answer)?.[1]);

  it('should begin one request of a connection at a time, give all others a turn between two, and lose no byte', async () => {
    let [inHand, turns, lastTurn, faults] = [0, 0, -1, 0];
    // As many as may come in one go.
    const lengths = [...Array<number>(92).fill(2), 0, 1, 70_000, 3, 300_000, 0, 16_384, 2];
    const received: number[] = [];
    const count = (): void => {
      turns += 1;
      if (received.length < lengths.length) setImmediate(count);
    };
    count();
    await open((request, response) => {
      inHand += 1;
      if (inHand !== 1 || turns === lastTurn) faults += 1;
      lastTurn = turns;
      let length = 0;
      request.on('data', (chunk: Buffer) => (length += chunk.length));
      request.on('end', () => received.push(length) && response.end());
      response.on('finish', () => (inHand -= 1));
      // Without a wait for the body, the next request could begin in this turn.
      if (request.headers['content-length'] === '2') response.end();
    }, 60_000);
    const requests = lengths.map(
      (length) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}`,
    );
    client.write(requests.join(''));
    expect(await answers(lengths.length)).not.toContain('Connection: close');
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
    await open(({ url }, response) => {
      const answer = (): unknown => response.end(`<${url}>`);
      if (url === '/1') void until(() => !server.listening).then(answer);
      else setImmediate(answer);
    });
    const all = answers(4);
    client.write(REQUEST);
    await once(client, 'data');
    const closing = shutdown.close();
    client.write(['/1', '/2', '/3'].map((path) => REQUEST.replace('/', path)).join(''));
    const found = (await all).split('HTTP/1.1 200 OK').slice(1);
    await closing;
    expect(found.map((answer) => /<.*>/.exec(answer)?.[0])).toEqual(['</>', '</1>', '</2>', '</3>']);
    expect(connectionsIn(found)).toEqual([...Array<string>(3).fill('keep-alive'), 'close']);
  });

  it('should answer 100 requests that came in one go, in full, end with the last, and drop all behind them', async () => {
    const urls: unknown[] = [];
    const large = 'x'.repeat(300_000);
    await open((request, response) => {
      urls.push(request.url);
      if (response.write(large)) response.end();
      else response.once('drain', () => response.end());
    });
    const handedOver = jest.fn();
    server.on('request', handedOver);
    const chunks: Buffer[] = [];
    client.on('data', (bytes: Buffer) => chunks.push(bytes));
    client.write(Array.from({ length: 20_000 }, (_, at) => REQUEST.replace('/', `/${at}`)).join(''));
    await once(client, 'end');
    const found = Buffer.concat(chunks).toString().split('HTTP/1.1 200 OK').slice(1);
    expect(found.filter((answer) => !answer.includes(large))).toEqual([]);
    expect(urls).toEqual(Array.from({ length: 100 }, (_, at) => `/${at}`));
    expect(connectionsIn(found)).toEqual([...Array<string>(99).fill('keep-alive'), 'close']);
    expect(handedOver).toHaveBeenCalledTimes(100);
  });

  it('should cut off a client that does not read the answers to too many requests', async () => {
    await open((_request, response) => response.end('x'.repeat(1_000_000)));
    client.pause().write(REQUEST.repeat(200));
    const [socket] = (await once(server, 'timeout')) as [Socket];
    if (!socket.closed) await once(socket, 'close');
  });

  // The last, as Node takes a second for their end.
  it('should hold a limited number of requests for all connections', async () => {
    await open(() => undefined, 60_000);
    const handedOver = jest.fn();
    server.on('request', handedOver);
    const served: Socket[] = [];
    server.on('connection', (socket) => served.push(socket));
    const clients = Array.from({ length: 220 }, () =>
      connect(portOf(server), '127.0.0.1').on('error', () => undefined),
    );
    for (const each of clients) each.write(REQUEST.repeat(100));
    const sent = 100 * REQUEST.length * clients.length;
    await until(() => served.reduce((sum, { bytesRead }) => sum + bytesRead, 0) === sent);
    // In hand, and one that waits, of each.
    expect(handedOver.mock.calls.length).toBeLessThan(20_000 + 2 * clients.length);
    for (const each of [...clients, ...served]) each.destroy();
  });
});

describe(PlantStoreAdapter.name, () => {
  const seen = jest.fn();
  const see = ({ method }: IncomingMessage, _response: unknown, next: () => void): void => {
    seen(method);
    next();
  };

  it.each<[string, (adapter: PlantStoreAdapter) => void]>([
    ['each request', (adapter) => adapter.use(see)],
    ['requests of several paths', (adapter) => adapter.use(['/elsewhere', '/any'], see)],
    ['requests of a pattern', (adapter) => adapter.use('/a*rest', see)],
    ['the path, for a module', (adapter) => void adapter.createMiddlewareFactory(RequestMethod.ALL)('/any', see)],
  ])('should show requests to a middleware that is to see %s', async (_, prepare) => {
    seen.mockReset();
    const adapter = new PlantStoreAdapter(readEnvironment({}).environment, []);
    adapter.initHttpServer();
    prepare(adapter);
    adapter.post('/any', (_request, response) => Promise.resolve(response.end('made')));
    const server = adapter.getHttpServer() as Server;
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const response = await fetch(`http://127.0.0.1:${portOf(server)}/any`, { method: 'POST' });
    expect([await response.text(), seen.mock.calls]).toEqual(['made', [['POST']]]);
    await endServer(server);
  });
});
