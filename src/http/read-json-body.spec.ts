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

const read = (request: IncomingMessage): ReturnType<typeof readJsonBody> =>
  readJsonBody(request, new ServerResponse(request), MEBIBYTE, ['id', 'name']);

describe(readJsonBody.name, () => {
  it('should not keep a large body for a short name in it', async () => {
    const body = '{"id":1,"name":"🌹\\ud800"}'.padEnd(MEBIBYTE - 2);
    const kept: unknown[] = [];
    let before = 0;
    for (let count = 0; count <= 20; count++) {
      // The first one also loads code.
      if (count === 1) before = heapInUse();
      const request = requestOf(MEBIBYTE);
      request.push(body);
      request.push(null);
      kept.push((await read(request)).name);
    }
    expect(heapInUse() - before).toBeLessThan(4 * MEBIBYTE);
    // Half a character stays one, to be refused later.
    expect(new Set(kept)).toEqual(new Set(['🌹\ud800']));
  });

  it('should say what to do if another one has read the body and left an empty one', async () => {
    const request = requestOf(PLANT.length);
    const object = read(request);
    request.push(null);
    await expect(object).rejects.toThrow(/exemptPlantsFromBodyParser\(app\).*`rawBody: true`/);
  });

  it('should take no more bytes that the parser of the application has kept than of any other body', async () => {
    const request = Object.assign(requestOf(MEBIBYTE + 1), { rawBody: Buffer.alloc(MEBIBYTE + 1) });
    request.push(null);
    const ended = once(request, 'end');
    request.resume();
    await ended;
    await expect(read(request)).rejects.toMatchObject({ error: 41300 });
  });

  it('should not wait for a body whose client has gone before', async () => {
    const request = requestOf(PLANT.length);
    request.destroy();
    await once(request, 'close');
    await expect(read(request)).rejects.toMatchObject({ error: 40010 });
  });

  it.each([undefined, new Error('aborted')])('should not wait for a body whose client goes: %s', async (cause) => {
    const request = requestOf(PLANT.length);
    const object = read(request);
    request.push(PLANT.slice(0, 5));
    request.destroy(cause);
    await expect(object).rejects.toMatchObject({ error: 40010 });
  });
});

describe('readBytes', () => {
  it('should take the only body, however large, and no other one beside it', async () => {
    const heap_size_limit = 72 * MEBIBYTE;
    jest.unstable_mockModule('node:v8', () => ({ getHeapStatistics: () => ({ heap_size_limit }) }));
    jest.resetModules();
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
});

describe(headerValues.name, () => {
  it('should find those of a request without raw headers, as serverless adapters make it', () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { headers: { 'idempotency-key': 'a' } });
    expect([headerValues(request, 'idempotency-key'), headerValues(request, 'authorization')]).toEqual([['a'], []]);
  });
});
