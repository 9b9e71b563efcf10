import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { JsonNumber, JsonStructure, JsonSyntaxError, parseExactJson } from './exact-json.js';
import { readJsonBody } from './read-json-body.js';
import { sendJson } from './send-json.js';

const alphabet = fc.constantFrom(
  ...'{}[]",:\\/ \t\n0123456789-+.eEtrufalsn\u0000x'.split(''),
  ...['"a"', 'true', '\\u00e9', '\uFEFF'],
);
const almostJson = fc
  .tuple(fc.json(), fc.nat(), fc.nat(3), fc.string({ unit: alphabet, maxLength: 3 }))
  .map(([json, place, cut, insert]) => {
    const at = place % (json.length + 1);
    return json.slice(0, at) + insert + json.slice(at + cut);
  });
const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()).map((value) => JSON.stringify(value));
const texts = fc.oneof(objects, fc.json(), almostJson, fc.string({ unit: alphabet }));

/** What came of it, or the class of the error. */
function outcomeOf(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Error && error.message.includes('is repeated')) return 'repeats a key';
    if (error instanceof SyntaxError || error instanceof JsonSyntaxError) return 'is no JSON';
    throw error;
  }
}

/** A member as JSON.parse has it, in the form in which it is kept. */
function kept(value: unknown): unknown {
  if (Array.isArray(value)) return new JsonStructure('array');
  return typeof value === 'object' && value !== null ? new JsonStructure('object') : value;
}

describe(parseExactJson.name, () => {
  it('should accept what JSON.parse accepts, with the same members, and refuse the rest', () => {
    let accepted = 0;
    const property = fc.property(texts, (text) => {
      const parsed = outcomeOf(() => JSON.parse(text) as unknown);
      const names = Object.keys(Object(parsed) as object).filter((name) => name !== '__proto__');
      const found = outcomeOf(() => parseExactJson(text, names));
      // JSON.parse takes the last one of equal keys. Only in this the two differ on purpose: see the contract.
      if (parsed === 'is no JSON' || found === 'repeats a key') {
        expect(['is no JSON', 'repeats a key']).toContain(found);
        // What JSON.stringify writes repeats none.
        expect(text).not.toBe(JSON.stringify(parsed));
        return;
      }
      accepted += 1;
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
      const members = names.map((name) => [name, kept((parsed as Record<string, unknown>)[name])]);
      const rounded = Object.entries(Object(found) as object).map(([name, value]: [string, unknown]) => [
        name,
        value instanceof JsonNumber ? Number(value.source) : value,
      ]);
      if (isObject) expect(Object.fromEntries(rounded)).toEqual(Object.fromEntries(members));
      else expect(found).toBeUndefined();
    });
    fc.assert(property, { numRuns: 2000 });
    expect(accepted).toBeGreaterThan(400);
  });
});

function requestOf(length: number): IncomingMessage {
  const headers = { 'content-type': 'application/json', 'content-length': String(length) };
  return Object.assign(new IncomingMessage(new Socket()), { headers });
}

describe(readJsonBody.name, () => {
  it('should count no body of a client that has gone in the meantime', async () => {
    const length = 1_000_000;
    for (let gone = 0; gone < 2000; gone++) {
      const request = requestOf(length);
      request.socket.destroy();
      const reading = readJsonBody(request, new ServerResponse(request), length, []);
      await expect(reading).rejects.toMatchObject({ error: 40010 });
    }
  });

  it('should take no more of the bytes that a parser has kept than of any other body', async () => {
    const request = Object.assign(requestOf(10), { rawBody: Buffer.alloc(10, ' ') });
    await expect(readJsonBody(request, new ServerResponse(request), 9, [])).rejects.toMatchObject({ error: 41300 });
  });

  it.each<[what: string, end: (request: IncomingMessage) => unknown]>([
    ['has gone', (request) => once(request.destroy(), 'close')],
    ['goes', (request) => setImmediate(() => request.destroy())],
  ])('should not wait for a body whose client %s', async (_, end) => {
    const request = requestOf(9);
    await end(request);
    await expect(readJsonBody(request, new ServerResponse(request), 9, [])).rejects.toMatchObject({ error: 40010 });
  });
});

describe(sendJson.name, () => {
  it('should send nothing if a middleware of the host has answered', () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    response.end('of the host');
    const reply = { raw: response, sent: true, send: jest.fn() };
    // Node throws at a second head, and Fastify at members that this reply lacks.
    for (const answered of [response, reply as never]) sendJson(answered, 200, { name: 'Rose' });
    expect(reply.send).not.toHaveBeenCalled();
  });
});
