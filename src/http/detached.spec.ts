import { describe, expect, it } from '@jest/globals';
import { detached } from './body-bytes.js';
import { parseExactJson, type JsonObject } from './exact-json.js';

describe(detached.name, () => {
  it('should keep every text as it is, and everything else', () => {
    const text = '{"id":1,"name":"\\ud83c\\udf39 \\ud800 é Rose of some length","__proto__":"a","tag":null,"more":[]}';
    const object = detached(parseExactJson(text) as JsonObject);
    expect(object).toEqual(parseExactJson(text));
    expect(Object.keys(object)).toEqual(['id', 'name', '__proto__', 'tag', 'more']);
  });
});
