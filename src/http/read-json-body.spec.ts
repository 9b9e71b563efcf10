import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { headerValues } from './platform.js';
import { readJsonBody } from './read-json-body.js';

const LIMIT = 1024 * 1024;
const PLANT = '{"id":1,"name":"Rose"}';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe(readJsonBody.name, () => {
  function requestOf(length: number): IncomingMessage {
    const request = new IncomingMessage(new Socket());
    request.headers['content-type'] = 'application/json';
    request.headers['content-length'] = String(length);
    return request;
  }

  const read = (request: IncomingMessage): ReturnType<typeof readJsonBody> =>
    readJsonBody(request, new ServerResponse(request), LIMIT, ['id', 'name']);

  it('should not keep an object for every byte of a body that comes byte by byte', async () => {
    const request = requestOf(LIMIT);
    const bytes = Buffer.from(PLANT.padEnd(LIMIT));
    const object = read(request);
    const before = heapInUse();
    for (let at = 0; at < LIMIT; at++) request.emit('data', bytes.subarray(at, at + 1));
    // A million objects of the smallest kind would be several times as much.
    expect(heapInUse() - before).toBeLessThan(8 * LIMIT);
    request.push(null);
    expect(Object.keys(await object)).toEqual(['id', 'name']);
  });

  it('should not keep a large body for a short name in it', async () => {
    const body = '{"id":1,"name":"🌹\\ud800"}'.padEnd(LIMIT - 2);
    const before = heapInUse();
    const kept = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const request = requestOf(LIMIT);
        request.push(body);
        request.push(null);
        return (await read(request)).name;
      }),
    );
    expect(heapInUse() - before).toBeLessThan(4 * LIMIT);
    // Half a character stays one, to be refused later.
    expect(new Set(kept)).toEqual(new Set(['🌹\ud800']));
  });

  it('should not call a body empty that somebody else has read', async () => {
    const request = requestOf(PLANT.length);
    const object = read(request);
    request.push(null);
    await expect(object).rejects.toThrow('Call exemptPlantsFromBodyParser(app)');
  });

  describe('a body that the parser of the application has read', () => {
    async function readKept(rawBody: unknown, length = PLANT.length): ReturnType<typeof readJsonBody> {
      const request = Object.assign(requestOf(length), { body: { id: 1, name: 'Rose' }, rawBody });
      request.push(null);
      const ended = once(request, 'end');
      request.resume();
      await ended;
      return read(request);
    }

    it('should be read from its bytes', async () => {
      const bytes = Buffer.from('{"id":9007199254740993,"name":"Rose"}');
      expect(await readKept(bytes, bytes.length)).toMatchObject({ id: { source: '9007199254740993' }, name: 'Rose' });
    });

    it('should have no more bytes than any other', async () => {
      await expect(readKept(Buffer.alloc(LIMIT + 1), LIMIT + 1)).rejects.toMatchObject({ error: 41300 });
    });

    it('should be missing if it is empty', async () => {
      await expect(readKept(undefined, 0)).rejects.toMatchObject({ error: 40001 });
    });

    it.each([undefined, PLANT, {}])('should be refused with what to do if its bytes are %j', async (rawBody) => {
      await expect(readKept(rawBody)).rejects.toThrow(/exemptPlantsFromBodyParser\(app\).*`rawBody: true`/);
    });
  });

  it('should say what to do if another one has begun to read the body', async () => {
    const request = requestOf(PLANT.length);
    request.push(PLANT);
    request.read();
    await expect(read(request)).rejects.toThrow('exemptPlantsFromBodyParser(app)');
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

describe(headerValues.name, () => {
  it('should find those of a request without raw headers, as serverless adapters make it', () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { headers: { 'idempotency-key': 'a' } });
    expect([headerValues(request, 'idempotency-key'), headerValues(request, 'authorization')]).toEqual([['a'], []]);
  });
});
