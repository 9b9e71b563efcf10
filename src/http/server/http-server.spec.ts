import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onRequestAbort } from '../body-bytes.js';
import { createHttpServer } from './http-server.js';

/** Longer than a slow machine takes between accepting a connection and reading what came on it. */
const REQUEST_TIMEOUT = 400;
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
    const timeout = 2.5 * REQUEST_TIMEOUT;
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

  it('should not take a request for late whose body nobody took in time', async () => {
    const timeout = 2.5 * REQUEST_TIMEOUT;
    const client = await open((request, response) => {
      // It is found late after 1.25 times the timeout at the latest, and has the whole timeout once more.
      setTimeout(() => request.resume().on('end', () => response.end('whole')), 1.4 * timeout);
    }, timeout);
    client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${' '.repeat(1_000_000)}`);
    let text = '';
    client.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)));
    await once(client, 'data');
    expect(text).toContain('whole');
    client.destroy();
  });

  describe('with pipelined requests', () => {
    const ANSWER = /HTTP\/1\.1 /g;
    const slowly = (response: ServerResponse): void => {
      setTimeout(() => response.end('answer'), 4 * REQUEST_TIMEOUT);
    };

    /** Resolves with what the client got, once it has as many answers. */
    async function answers(client: Socket, count: number): Promise<string> {
      let text = '';
      while ((text.match(ANSWER)?.length ?? 0) < count) {
        text += String(((await once(client, 'data')) as [Buffer])[0]);
      }
      return text;
    }

    it('should begin one at a time, and give all others a turn between two', async () => {
      let [inHand, begun, turns, lastTurn, faults] = [0, 0, 0, -1, 0];
      let counting = true;
      const count = (): void => {
        turns += 1;
        if (counting) setImmediate(count);
      };
      count();
      const client = await open((request, response) => {
        begun += 1;
        inHand += 1;
        if (inHand !== 1 || turns === lastTurn) faults += 1;
        lastTurn = turns;
        response.on('finish', () => (inHand -= 1));
        request.resume();
        response.end();
      }, 100 * REQUEST_TIMEOUT);
      const requests = 3000;
      client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'.repeat(requests));
      await answers(client, requests);
      counting = false;
      expect({ begun, faults }).toEqual({ begun: requests, faults: 0 });
      client.destroy();
    });

    it('should hand over every byte of their bodies', async () => {
      const received: number[] = [];
      const client = await open((request, response) => {
        let length = 0;
        request.on('data', (chunk: Buffer) => (length += chunk.length));
        request.on('end', () => {
          received.push(length);
          setImmediate(() => response.end());
        });
      }, 100 * REQUEST_TIMEOUT);
      const lengths = [0, 1, 70_000, 3, 300_000, 0, 16_384, 2];
      for (const length of lengths) {
        client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
        client.write(Buffer.alloc(length, 'x'));
      }
      await answers(client, lengths.length);
      expect(received).toEqual(lengths);
      client.destroy();
    });

    it('should not begin those whose client has gone', async () => {
      let begun = 0;
      const client = await open((_request, response) => {
        begun += 1;
        response.on('close', () => response.end());
      });
      const connected = once(server, 'connection') as Promise<[Socket]>;
      client.write(REQUEST.repeat(100));
      const [connection] = await connected;
      await once(server, 'request');
      const gone = new Promise((resolve) => connection.once('close', resolve));
      client.resetAndDestroy();
      await gone;
      await new Promise(setImmediate);
      expect(begun).toBe(1);
    });

    it('should not read what comes after those that wait', async () => {
      const client = await open((_request, response) => {
        response.on('close', () => response.end());
      });
      const connected = once(server, 'connection') as Promise<[Socket]>;
      client.write(REQUEST + REQUEST);
      const [connection] = await connected;
      await once(server, 'request');
      client.write(Buffer.alloc(50_000_000));
      await new Promise((resolve) => setTimeout(resolve, REQUEST_TIMEOUT / 2));
      expect(connection.bytesRead).toBeLessThan(1_000_000);
      client.destroy();
    });

    it.each([
      ['its body', `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`, ' '.repeat(1_000_000)],
      ['its head', `${REQUEST}POST / HTTP/1.1\r\nHost: x\r\nContent-Le`, `ngth: 2\r\n\r\n{}`],
    ])('should not call one late if the service itself did not read %s in time', async (_, begin, rest) => {
      const client = await open((request, response) => {
        if (request.method === 'GET') slowly(response);
        else request.resume().on('end', () => response.end('whole'));
      });
      client.write(REQUEST + begin);
      setTimeout(() => client.write(rest), REQUEST_TIMEOUT / 4);
      const text = await answers(client, begin.startsWith('POST') ? 2 : 3);
      expect(text).toContain('whole');
      expect(text).not.toContain('40800');
      client.destroy();
    });

    it('should take one for late that does not come once it is read', async () => {
      const client = await open((request, response) => {
        if (request.method === 'GET') slowly(response);
        else onRequestAbort(request, (failure) => response.end(String(failure.error)));
      });
      client.write(`${REQUEST}POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{`);
      expect(await answers(client, 2)).toContain('40800');
      await once(client, 'close');
    });

    it('should hold a limited number of them for all connections', async () => {
      const client = await open(() => undefined, 100 * REQUEST_TIMEOUT);
      const { port } = server.address() as AddressInfo;
      const clients = [client, ...Array.from({ length: 30 }, () => connect(port, '127.0.0.1'))];
      const closed = new Promise((resolve) => {
        for (const each of clients) each.on('error', () => undefined).once('close', resolve);
      });
      for (const each of clients) each.write('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(3000));
      await closed;
      for (const each of clients) each.destroy();
    });
  });
});
