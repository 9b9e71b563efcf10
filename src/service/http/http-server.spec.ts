import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { endServer, portOf } from '../../../test/support/http/free-port.js';
import type { RequestObserver } from '../../http/request-context.js';
import { expressClasses } from './express-adapter.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { createHttpServer } from './http-server.js';

const REQUEST_TIMEOUT = 1000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

// They fail too if Node's parser is no longer the one listener that takes the bytes of a connection, or reads in another way.
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
    shutdown = new GracefulShutdown(server, created.queue, limits);
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
    const lengths = [...Array<number>(1000).fill(2), 0, 1, 70_000, 3, 300_000, 0, 16_384, 2];
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

  // The last, as Node takes a second for their end.
  it('should hold a limited number of requests for all connections', async () => {
    await open(() => undefined, { REQUEST_TIMEOUT: 60_000 });
    const clients = [client, ...Array.from({ length: 12 }, () => connect(portOf(server), '127.0.0.1'))];
    const closed = Promise.race(clients.map((each) => new Promise((resolve) => each.once('close', resolve))));
    for (const each of clients) each.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(3000));
    await closed;
    for (const each of clients) each.destroy();
  });
});
