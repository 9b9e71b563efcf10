import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { useOneClient } from '../../../test/support/service/one-client.js';
import { stall } from '../../../test/support/stall.js';
import { ConnectionQueue } from './connection-queue.js';

const REQUEST_TIMEOUT = 60_000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

// They fail too if Node's parser is no longer the one listener that takes the bytes of a connection, or reads in another way.
describe(ConnectionQueue.name, () => {
  const open = useOneClient(REQUEST_TIMEOUT);

  async function answers(client: Socket, count: number): Promise<void> {
    let text = '';
    while (text.split('HTTP/1.1 200').length <= count) text += String(((await once(client, 'data')) as [Buffer])[0]);
  }

  it('should begin one request at a time, and give all others a turn between two', async () => {
    let [inHand, begun, turns, lastTurn, faults] = [0, 0, 0, -1, 0];
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    count();
    const { client } = await open((request, response) => {
      begun += 1;
      inHand += 1;
      if (inHand !== 1 || turns === lastTurn) faults += 1;
      lastTurn = turns;
      response.on('finish', () => (inHand -= 1));
      request.resume();
      response.end();
    });
    const requests = 1000;
    client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'.repeat(requests));
    await answers(client, requests);
    counting = false;
    expect({ begun, faults }).toEqual({ begun: requests, faults: 0 });
  });

  it('should hand over every byte of their bodies', async () => {
    const received: number[] = [];
    const { client } = await open((request, response) => {
      let length = 0;
      request.on('data', (chunk: Buffer) => (length += chunk.length));
      request.on('end', () => {
        received.push(length);
        setImmediate(() => response.end());
      });
    });
    const lengths = [0, 1, 70_000, 3, 300_000, 0, 16_384, 2];
    for (const length of lengths) {
      client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
      client.write(Buffer.alloc(length, 'x'));
    }
    await answers(client, lengths.length);
    expect(received).toEqual(lengths);
  });

  it('should not begin a request whose client has gone', async () => {
    let begun = 0;
    const { server, client, connection } = await open((_request, response) => {
      begun += 1;
      response.on('close', () => response.end());
    });
    client.write(REQUEST.repeat(100));
    await once(server, 'request');
    const gone = new Promise((resolve) => connection.once('close', resolve));
    client.resetAndDestroy();
    await gone;
    await new Promise(setImmediate);
    expect(begun).toBe(1);
  });

  it('should not read what comes after those that wait', async () => {
    const { server, client, connection } = await open(() => undefined);
    client.write(REQUEST + REQUEST);
    await once(server, 'request');
    client.write(Buffer.alloc(50_000_000));
    let before = -1;
    while (connection.bytesRead !== before) {
      before = connection.bytesRead;
      await sleep(100);
    }
    expect(before).toBeLessThan(1_000_000);
  });

  it('should begin a limited number of requests in a turn, as one connection is accepted in each', async () => {
    let begun = 0;
    const { server } = await open((_request, response) => {
      begun += 1;
      response.end();
    });
    const { port } = server.address() as AddressInfo;
    const clients = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    let accepted = 0;
    while (accepted < clients.length) {
      await once(server, 'connection');
      accepted += 1;
    }
    const answered = Promise.all(clients.map((each) => once(each, 'data')));
    for (const each of clients) each.write(REQUEST);
    // The server finds all of them at once.
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
    stall(100);
    let [last, most] = [0, 0];
    while (begun < clients.length) {
      await new Promise(setImmediate);
      most = Math.max(most, begun - last);
      last = begun;
    }
    // In the first turn those of two.
    expect(most).toBeLessThanOrEqual(2 * 64);
    await answered;
    for (const each of clients) each.destroy();
  });

  it('should hold a limited number of them for all connections', async () => {
    const { server, client } = await open(() => undefined);
    const { port } = server.address() as AddressInfo;
    const clients = [client, ...Array.from({ length: 30 }, () => connect(port, '127.0.0.1'))];
    const closed = Promise.race(clients.map((each) => new Promise((resolve) => each.once('close', resolve))));
    for (const each of clients) each.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(3000));
    await closed;
    for (const each of clients) each.destroy();
  });
});
