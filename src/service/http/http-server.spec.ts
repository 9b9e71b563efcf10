import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { useOneClient } from '../../../test/support/service/one-client.js';
import { createHttpServer } from './http-server.js';

/** Longer than a busy machine keeps a client from taking anything. */
const REQUEST_TIMEOUT = 1000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe(createHttpServer.name, () => {
  const open = useOneClient(REQUEST_TIMEOUT);

  it('should give up a client that takes nothing of its answer', async () => {
    const { client, connection } = await open((_request, response) => response.end(Buffer.alloc(50_000_000)));
    client.write(REQUEST + REQUEST);
    await once(connection, 'close');
  });

  it('should leave a client the time to take its answer with pauses', async () => {
    const size = 20_000_000;
    const { client } = await open((_request, response) => {
      response.setHeader('Connection', 'close');
      response.end(Buffer.alloc(size));
    });
    client.write(REQUEST);
    let taken = 0;
    client.on('data', (chunk: Buffer) => {
      taken += chunk.length;
      if (taken % 10 !== 0) return;
      client.pause();
      setTimeout(() => client.resume(), REQUEST_TIMEOUT / 20);
    });
    await once(client, 'close');
    expect(taken).toBeGreaterThan(size);
  });

  it('should leave an answer all the time that it takes', async () => {
    const { client } = await open((_request, response) => {
      setTimeout(() => response.end('late'), 2 * REQUEST_TIMEOUT);
    });
    client.write(REQUEST);
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString()).toContain('late');
  });
});
