import { describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { headerValues } from './platform.js';
import { readJsonBody } from './read-json-body.js';

const MEBIBYTE = 1024 * 1024;
const PLANT = '{"id":1,"name":"Rose"}';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

function requestOf(length: number): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  Object.assign(request.headers, { 'content-type': 'application/json', 'content-length': String(length) });
  return request;
}

/** The stream of the request has ended, as a parser leaves it. */
async function readByAnother(request: IncomingMessage): Promise<IncomingMessage> {
  request.push(null);
  const ended = once(request, 'end');
  request.resume();
  await ended;
  return request;
}

const read = (request: IncomingMessage): ReturnType<typeof readJsonBody> =>
  readJsonBody(request, new ServerResponse(request), MEBIBYTE, ['name', 'tag']);

describe(readJsonBody.name, () => {
  it('should not keep a large body for a short name in it', async () => {
    // V8 copies what has fewer than 13 characters in any case.
    const name = 'a rose of many words';
    const body = `{"id":1,"name":"${name}","tag":"\\ud800"}`.padEnd(MEBIBYTE);
    const kept: unknown[] = [];
    let before = 0;
    for (let count = 0; count <= 20; count++) {
      // The first one also loads code.
      if (count === 1) before = heapInUse();
      const request = requestOf(MEBIBYTE);
      request.push(body);
      request.push(null);
      kept.push(await read(request));
    }
    expect(heapInUse() - before).toBeLessThan(4 * MEBIBYTE);
    // Half a character stays one, to be refused later.
    expect(kept).toMatchObject(Array(21).fill({ name, tag: '\ud800' }));
  });

  it('should say what to do if another one has read the body and left an empty one', async () => {
    const request = requestOf(PLANT.length);
    const object = read(request);
    request.push(null);
    await expect(object).rejects.toThrow('NestFactory.create(AppModule, { rawBody: true })');
  });

  it('should say that the body is empty if another one has read a request without a body', async () => {
    const request = await readByAnother(requestOf(0));
    await expect(read(request)).rejects.toMatchObject({ error: 40001 });
  });

  it('should take the bytes that were kept, whatever the stream and the headers say', async () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { rawBody: Buffer.from(PLANT) });
    Object.assign(request.headers, { 'content-type': 'application/json' });
    expect(await read(request)).toMatchObject({ name: 'Rose' });
  });

  it('should take no more bytes that the parser of the application has kept than of any other body', async () => {
    const request = await readByAnother(requestOf(MEBIBYTE + 1));
    Object.assign(request, { rawBody: Buffer.alloc(MEBIBYTE + 1) });
    await expect(read(request)).rejects.toMatchObject({ error: 41300 });
  });

  it('should not wait for a body whose client has gone, or goes', async () => {
    const [gone, closed, aborted] = [requestOf(PLANT.length), requestOf(PLANT.length), requestOf(PLANT.length)];
    await once(gone.destroy(), 'close');
    const outcomes = Promise.allSettled([read(gone), read(closed), read(aborted)]);
    for (const request of [closed, aborted]) request.push(PLANT.slice(0, 5));
    closed.destroy();
    aborted.destroy(new Error('aborted'));
    expect(await outcomes).toMatchObject(Array(3).fill({ reason: { error: 40010 } }));
  });
});

describe('readBytes', () => {
  it('should take the only body, however large, and no other one beside it', async () => {
    const heap_size_limit = 72 * MEBIBYTE;
    jest.unstable_mockModule('node:v8', () => ({ getHeapStatistics: () => ({ heap_size_limit }) }));
    jest.resetModules();
    const { readBytes } = await import('./body-bytes.js');
    const [only, other] = [new IncomingMessage(new Socket()), new IncomingMessage(new Socket())];
    const [large, refused] = [only, other].map((request) => readBytes(request, new ServerResponse(request), Infinity));
    only.emit('data', Buffer.alloc(8 * MEBIBYTE));
    other.emit('data', Buffer.alloc(MEBIBYTE / 2));
    await expect(refused).rejects.toMatchObject({ error: 50301 });
    only.push(null);
    expect((await large)?.length).toBe(8 * MEBIBYTE);
  });
});

describe(headerValues.name, () => {
  it('should find those of a request without raw headers, as serverless adapters make it', () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { headers: { 'idempotency-key': 'a' } });
    expect([headerValues(request, 'idempotency-key'), headerValues(request, 'authorization')]).toEqual([['a'], []]);
  });
});
