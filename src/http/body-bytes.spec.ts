import { afterEach, describe, expect, it } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { BodyMemory } from './body-bytes.js';
import { type JsonObject, parseExactJson } from './exact-json.js';
import { copyStrings } from './read-body.js';

const MEBIBYTE = 1_048_576;

describe(BodyMemory.name, () => {
  const exchanges: ServerResponse[] = [];
  function memory(): [BodyMemory, ServerResponse] {
    const request = new IncomingMessage(new Socket());
    const response = new ServerResponse(request);
    exchanges.push(response);
    return [new BodyMemory(request, response), response];
  }
  const hold = (bytes: number): void => {
    memory()[0].hold(bytes);
  };
  afterEach(() => {
    for (const response of exchanges.splice(0)) response.emit('close');
  });

  it('should refuse what is too much together, until one of them is answered', () => {
    const [first, response] = memory();
    first.hold(200 * MEBIBYTE);
    hold(56 * MEBIBYTE);
    expect(() => {
      hold(MEBIBYTE);
    }).toThrow(expect.objectContaining({ error: 50301 }));
    response.emit('close');
    hold(200 * MEBIBYTE);
  });

  it('should count a body that grows once, and not what it cannot have', () => {
    const [growing] = memory();
    for (const size of [1, 100, 200]) growing.hold(size * MEBIBYTE);
    const [other] = memory();
    other.hold(50 * MEBIBYTE);
    expect(() => {
      other.hold(60 * MEBIBYTE);
    }).toThrow(expect.objectContaining({ error: 50301 }));
    hold(6 * MEBIBYTE);
  });

  it('should forget a body whose connection goes before the answer has reached it', () => {
    const request = new IncomingMessage(new Socket());
    new BodyMemory(request, new ServerResponse(request)).hold(256 * MEBIBYTE);
    request.socket.emit('close');
    hold(MEBIBYTE);
    hold(255 * MEBIBYTE);
  });

  it('should take the only one, however large', () => {
    hold(500 * MEBIBYTE);
    expect(() => {
      hold(MEBIBYTE);
    }).toThrow(expect.objectContaining({ error: 50301 }));
  });
});

describe(copyStrings.name, () => {
  it('should keep every text as it is, and everything else', () => {
    const text = '{"id":1,"name":"\\ud83c\\udf39 \\ud800 é Rose of some length","__proto__":"a","tag":null,"more":[]}';
    const object = copyStrings(parseExactJson(text) as JsonObject);
    expect(object).toEqual(parseExactJson(text));
    expect(Object.keys(object)).toEqual(['id', 'name', '__proto__', 'tag', 'more']);
  });
});
