import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { createPlant, RefusedError } from '../../examples/client.js';
import { freePort } from '../support/http/free-port.js';
import { rejectionOf } from '../support/rejection.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';

const ROSE = { id: 2n ** 53n + 1n, name: 'Rose', tag: 'flower' };
const LOST = 0;

describe('examples/client.ts', () => {
  let store: Store;
  /** In front of the store: it passes requests on, and gives another answer while there are numbers of errors, or loses the answer. */
  let proxy: Server;
  let errors: number[];
  let keys: unknown[];
  let send: () => Promise<object>;

  beforeAll(async () => {
    store = await startStore();
    proxy = createServer((request, response) => {
      const error = errors.shift();
      keys.push(request.headers['idempotency-key']);
      if (error) return response.writeHead(400, { 'Retry-After': '1' }).end(JSON.stringify({ error, message: 'x' }));
      const { authorization = '', 'content-type': type = '', 'idempotency-key': key = '' } = request.headers;
      void text(request).then(async (body) => {
        const answer = await fetch(`http://127.0.0.1:${store.port}/plants`, {
          method: 'POST',
          headers: { Authorization: authorization, 'Content-Type': type, 'Idempotency-Key': String(key) },
          body,
        });
        if (error === LOST) request.socket.destroy();
        else response.writeHead(answer.status).end(await answer.text());
      });
    });
    const port = await freePort();
    proxy.listen(port, '127.0.0.1');
    await once(proxy, 'listening');
    send = () => createPlant({ baseUrl: `http://127.0.0.1:${port}`, token: TOKEN }, ROSE);
  });
  afterAll(async () => {
    proxy.close();
    proxy.closeAllConnections();
    await store.stop();
  });

  it.each([[[]], [[40800]], [[50000]], [[50300, 50301]], [[50400]], [[LOST]]])(
    'should create a plant once, with its exact id and one key, whatever comes before: %j',
    async (before) => {
      await store.database.query('TRUNCATE plants');
      errors = [...before];
      keys = [];
      const started = performance.now();
      expect(await send()).toEqual({ name: 'Rose', tag: 'flower' });
      expect([keys.length, new Set(keys).size]).toEqual([before.length + 1, 1]);
      // The header says one second; a timer may be early by a bit.
      expect(performance.now() - started).toBeGreaterThan(990 * before.filter((error) => error !== LOST).length);
      const rows = await store.database.query('SELECT id, name, tag, idempotency_key FROM plants');
      expect(rows).toEqual([{ ...ROSE, id: '9007199254740993', idempotency_key: keys[0] }]);
    },
  );

  it('should throw any other refusal, with its number and message', async () => {
    errors = [];
    keys = [];
    const failure = await rejectionOf(send());
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure).toMatchObject({ error: 40901, message: expect.stringContaining('40901: The id 9007199254740993') });
    expect(keys).toHaveLength(1);
  });
});
