import { describe, expect, it } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { BodyMemoryBudget, copyStrings } from './body-bytes.js';
import { type JsonObject, parseExactJson } from './exact-json.js';
import { TooManyBodiesError } from './http.errors.js';

const MEBIBYTE = 1_048_576;

describe(BodyMemoryBudget.name, () => {
  const response = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

  it('should refuse what is too much together, until one of them is answered', () => {
    const budget = new BodyMemoryBudget();
    const first = response();
    budget.hold(200 * MEBIBYTE, first);
    budget.hold(56 * MEBIBYTE, response());
    expect(() => {
      budget.hold(MEBIBYTE, response());
    }).toThrow(TooManyBodiesError);
    first.emit('close');
    budget.hold(200 * MEBIBYTE, response());
  });

  it('should take the only one, however large', () => {
    const budget = new BodyMemoryBudget();
    budget.hold(500 * MEBIBYTE, response());
    expect(() => {
      budget.hold(MEBIBYTE, response());
    }).toThrow(TooManyBodiesError);
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
