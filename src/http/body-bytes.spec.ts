import { expect, it, jest } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

const MEBIBYTE = 1024 * 1024;
/** Of which all bodies together may take 1 MiB. */
const HEAP_BYTES = 72 * MEBIBYTE;

jest.unstable_mockModule('node:v8', () => ({ getHeapStatistics: () => ({ heap_size_limit: HEAP_BYTES }) }));

it('The only body is taken, however large, and another one beside it is not', async () => {
  const { MAX_BODIES_BYTES, readBytes } = await import('./body-bytes.js');
  expect(MAX_BODIES_BYTES).toBe(MEBIBYTE);
  const [only, other] = [new IncomingMessage(new Socket()), new IncomingMessage(new Socket())];
  const [large, refused] = [only, other].map((request) => readBytes(request, new ServerResponse(request), Infinity));
  only.emit('data', Buffer.alloc(4 * MEBIBYTE));
  other.emit('data', Buffer.alloc(MEBIBYTE / 2));
  await expect(refused).rejects.toMatchObject({ error: 50301 });
  only.emit('data', Buffer.alloc(4 * MEBIBYTE));
  only.push(null);
  expect((await large)?.length).toBe(8 * MEBIBYTE);
});
