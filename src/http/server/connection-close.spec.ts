import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { GracefulClose } from './connection-close.js';

describe(GracefulClose.name, () => {
  it('should wait no longer than its limit for requests under way', async () => {
    const server = createServer();
    const graceful = new GracefulClose(server, 100);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(server, 'request');

    await graceful.close();
    expect(server.listening).toBe(false);
    if (!client.closed) await once(client.resume(), 'close');
  });

  it('should be able to wait for longer than a timer can', async () => {
    const server = createServer();
    const graceful = new GracefulClose(server, 2 ** 33);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.on('request', (_request, response) => {
      setTimeout(() => response.end('answer'), 100);
    });
    const { port } = server.address() as AddressInfo;
    const answer = fetch(`http://127.0.0.1:${port}`);
    await once(server, 'request');

    await graceful.close();
    expect(await (await answer).text()).toBe('answer');
  });
});
