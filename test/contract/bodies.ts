import { describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { CHUNKED, postHead } from '../support/http/request.js';
import {
  type ContractTarget,
  exchange,
  expectCreated,
  expectNothingWritten,
  itShouldRefuse,
  type Refused,
  storedPlants,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const ROSE = '"id": 1, "name": "Rose"';
const OPENED = '['.repeat(50_000);

const NOT_AN_OBJECT = ['5', 'null', `[${PLANT}]`, OPENED + ']'.repeat(OPENED.length)];

// That all other texts are refused is a property of the parser, beside it. So it is for all other repeated keys.
const NOT_JSON = [' \t\r\n', 'id=1&name=Rose', '{"id": 1, "name": "Rose', OPENED, `{${ROSE},}`, `${PLANT}${PLANT}`];

export function describeRepeatedKeys(target: () => ContractTarget): void {
  describe('a JSON body that repeats a key', () => {
    itShouldRefuse(target, 40002, [
      ['the same value, written otherwise', `{${ROSE}, "id": 1.0}`, {}, /the key "id" is repeated/],
      ['an escape', `{${ROSE}, "\\u0069d": 1}`, {}, /"id"/],
      ['an ignored field', `{${ROSE}, "toString": 1, "toString": 1}`, {}, /"toString"/],
      ['a place deep within', `{${ROSE}, "pots": [[{"a": {"b": 1, "c": 2, "b": 3}}]]}`, {}, /"b"/],
    ]);
  });
}

const NO_LENGTH = { 'Content-Length': undefined };
const NO_TYPE = { 'Content-Type': undefined };
const EXAMPLE = /body.*\{"id": 1, "name": "Rose"\}/;

export function describeBodyJson(target: () => ContractTarget): void {
  describeRepeatedKeys(target);

  describe('a JSON body', () => {
    const refused = (bodies: string[], says: RegExp): Refused[] =>
      bodies.map((body) => [JSON.stringify(body.slice(0, 40)), body, {}, says]);
    itShouldRefuse(target, 40001, refused(NOT_AN_OBJECT, /not an object.*"name": "Rose"\}/));
    itShouldRefuse(target, 40002, [
      ...refused(NOT_JSON, /not JSON: .* line \d+, column \d+/),
      ['with the place', '{"id": 1,\n "näme": Rose}', {}, /line 2, column 10/],
      ['a byte order mark before it', `\ufeff${PLANT}`, {}, /byte order mark/],
      ['UTF-16', Buffer.from(PLANT, 'utf16le')],
      ['Latin-1', Buffer.from('{"id": 1, "name": "Röse"}', 'latin1'), {}, /UTF-8/],
      ['a surrogate as bytes', Buffer.from(`{${ROSE}, "x": "\xed\xa0\x80"}`, 'latin1'), {}, /UTF-8/],
    ]);
  });

  describe('a missing body', () => {
    itShouldRefuse(target, 40001, [
      ['nothing said about one', '', { ...NO_TYPE, ...NO_LENGTH }, EXAMPLE],
      ['a media type', '', NO_LENGTH, EXAMPLE],
      ['a length of 0', '', {}, EXAMPLE],
      ['no chunks', '0\r\n\r\n', CHUNKED, EXAMPLE],
    ]);
  });
}

const TYPES = ['APPLICATION/JSON', 'application/json;', 'application/json; profile="a;b,c" ; charset="Utf-8"'];
const OTHER_TYPES = ['', 'text/plain', 'application/vnd.api+json', 'application/json; charset=latin1'];

export function describeMediaTypes(target: () => ContractTarget): void {
  it.each([
    ...TYPES.map((type) => ['Content-Type', type]),
    ...['Identity', '', 'identity, identity'].map((coding) => ['Content-Encoding', coding]),
  ])('should accept a body of the %s: %s', async (field, value) => {
    expectCreated(await target().post(PLANT, { [field]: value }), { name: 'Rose' });
  });

  describe('a body of a type that is not supported', () => {
    const right = /must be application\/json in utf-8/;
    itShouldRefuse(target, 41500, [
      ['none', PLANT, NO_TYPE, /missing.*must be application\/json/],
      ['two', PLANT, { 'Content-Type': ['application/json', 'application/json'] }, right],
      ['one of 257 characters', PLANT, { 'Content-Type': 'application/json; x='.padEnd(257, 'x') }, /256/],
      ...OTHER_TYPES.map((type): Refused => [type, PLANT, { 'Content-Type': type }, right]),
      ...['gzip', 'identity, br'].map((coding): Refused => {
        return [coding, gzipSync(PLANT), { 'Content-Encoding': coding }, /content encoding.*send it uncompressed/];
      }),
    ]);
  });
}

const MEBIBYTE = 1024 * 1024;
const FRAME = '{"id":1,"name":""}';

/** @param limit the bytes that a body may have */
export function describeBodySize(target: () => ContractTarget, limit: number): void {
  /** A request with a body of this many bytes. The name has letters of two bytes, and an x if one byte is left. */
  function request(bytes: number, isChunked: boolean): { parts: (string | Buffer)[]; name: string } {
    const room = bytes - FRAME.length;
    const name = 'x'.repeat(room % 2) + 'ä'.repeat(Math.floor(room / 2));
    const body = Buffer.from(FRAME.replace('""', `"${name}"`));
    const framed = isChunked ? [`${bytes.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'] : [body];
    return { parts: [postHead(target().basePath, body, isChunked ? CHUNKED : {}), ...framed], name };
  }

  describe(`a body sent with a limit of ${limit} bytes`, () => {
    it.each([
      ['with a length', false],
      ['in chunks', true],
    ])('should be read up to the last byte within, and none beyond: %s', async (_, isChunked) => {
      const response = await target().raw(...request(limit + 1, isChunked).parts);
      expect(await expectNothingWritten(target(), response, 41300)).toContain(`${limit} bytes`);
      const { parts, name } = request(limit, isChunked);
      expectCreated(await target().raw(...parts), { name });
      expect(await storedPlants(target())).toMatchObject([{ id: '1', name }]);
    });

    it('should be refused before it is sent if its length says enough, and else if it does not end', async () => {
      await exchange(target(), postHead(target().basePath, '', { 'Content-Length': '1000000000' }), 41300);
      const chunks = ['100000\r\n', Buffer.alloc(MEBIBYTE, ' '), '\r\n'];
      const endless = Array<typeof chunks>(20).fill(chunks).flat();
      await exchange(target(), [postHead(target().basePath, '', CHUNKED), ...endless], 41300);
    });
  });
}
