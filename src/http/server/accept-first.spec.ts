import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { stall } from '../../../test/support/stall.js';
import { AcceptFirst } from './accept-first.js';

const CLIENTS = 20;
const DELIVERY_MS = 100;

describe(AcceptFirst.name, () => {
  it('should accept all connections that wait before a request begins, and then answer each', async () => {
    const acceptedAt: number[] = [];
    let accepted = 0;
    const acceptFirst = new AcceptFirst((_request, response) => {
      acceptedAt.push(accepted);
      response.end('answer');
    });
    const server = createServer((request, response) => {
      acceptFirst.begin(request, response);
    });
    acceptFirst.watch(server);
    server.on('connection', () => (accepted += 1));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;

    const clients = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'));
    for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    // They connect in the next tick, and the server, in this process, shall find all of them waiting.
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
    stall(DELIVERY_MS);
    await Promise.all(clients.map((client) => once(client.resume(), 'close')));

    expect(acceptedAt).toEqual(Array<number>(CLIENTS).fill(CLIENTS));
    server.close();
  });
});
