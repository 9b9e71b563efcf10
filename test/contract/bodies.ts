import { describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { CHUNKED, postHead, RawConnection } from '../support/http/request.js';
import {
  type ContractTarget,
  expectAnswers,
  expectCreated,
  expectNothingWritten,
  itShouldRefuse,
  itShouldAccept,
  type Refused,
  storedPlants,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const ROSE = '"id": 1, "name": "Rose"';
const DEPTH = 50_000;

const NOT_AN_OBJECT = ['5', '"Rose"', 'true', 'null', '[]', `[${PLANT}]`, '['.repeat(DEPTH) + ']'.repeat(DEPTH)];

// That all other texts are refused is a property of the parser, beside it.
const NOT_JSON = [
  ...[' \t\r\n', 'Rose', 'id=1&name=Rose', '{', '{"id": 1, "name": "Rose', '['.repeat(DEPTH), '{"a":'.repeat(DEPTH)],
  ...[`{${ROSE}, "tags": [}]`, `{${ROSE},}`, '{"id": 1 "name": "Rose"}', '{"id" 1, "name": "Rose"}'],
  ...['{id: 1, "name": "Rose"}', "{'id': 1, 'name': 'Rose'}", `{/* one */ ${ROSE}}`, `${PLANT}${PLANT}`],
  ...[`${PLANT}x`, `${PLANT}\0`, '{"id": 1, "name": "Ro\nse"}', '{"id": 1,\u00a0"name": "Rose"}'],
  ...['{"id": 1, "name": "\\x41"}', '{"id": 1, "name": "\\u12"}'],
  ...['NaN', 'Infinity', '01', '+1', '.5', '1.', '0x10', '1_000', '1n', '１'].map(
    (id) => `{"id": ${id}, "name": "Rose"}`,
  ),
];

const REPEATED: [what: string, body: string, key: string][] = [
  ['another value', `{${ROSE}, "id": 2}`, 'id'],
  ['the same value', `{${ROSE}, "name": "Rose"}`, 'name'],
  ['the same value, written otherwise', `{${ROSE}, "id": 1.0}`, 'id'],
  ['null', `{"tag": null, ${ROSE}, "tag": "flower"}`, 'tag'],
  ['an escape', `{${ROSE}, "\\u0069d": 1}`, 'id'],
  ['an ignored field', `{${ROSE}, "size": 1, "size": 1}`, 'size'],
  ['an empty key', `{${ROSE}, "": 1, "": 1}`, ''],
  ['a name of the prototype', `{${ROSE}, "toString": 1, "toString": 1}`, 'toString'],
  ['a place deep within', `{${ROSE}, "pots": [[{"a": {"b": 1, "c": 2, "b": 3}}]]}`, 'b'],
  ['a place in an array', `[{"id": 1, "id": 1}]`, 'id'],
];

export function describeRepeatedKeys(target: () => ContractTarget): void {
  describe('a JSON body that repeats a key', () => {
    itShouldRefuse(
      target,
      40002,
      REPEATED.map(([what, body, key]): Refused => [what, body, {}, new RegExp(`the key "${key}" is repeated`)]),
    );
  });
}

/** Bytes that are no UTF-8: ones that never occur, Latin-1, cut short, overlong, a surrogate, beyond U+10FFFF. */
const NOT_UTF8 = ['ff', 'e4', 'e282', 'c0af', 'c080', 'eda080', 'f4908080'].map((bytes) => Buffer.from(bytes, 'hex'));
const concat = (...parts: (string | Buffer)[]): Buffer => Buffer.concat(parts.map((part) => Buffer.from(part)));

const OTHER_BYTES: Refused[] = [
  ['a byte order mark before it', `\ufeff${PLANT}`, {}, /byte order mark/],
  ['a byte order mark behind it', `${PLANT}\ufeff`],
  ['UTF-16', Buffer.from(PLANT, 'utf16le')],
  ['UTF-16, big-endian, with a byte order mark', Buffer.from(`\ufeff${PLANT}`, 'utf16le').swap16()],
  ['nothing but zeros', Buffer.alloc(100)],
];

const NO_LENGTH = { 'Content-Length': undefined };
const NO_TYPE = { 'Content-Type': undefined };
const EXAMPLE = /body.*\{"id": 1, "name": "Rose"\}/;

export function describeBodyJson(target: () => ContractTarget): void {
  describeRepeatedKeys(target);

  describe('a JSON body', () => {
    itShouldAccept(target, [
      ['white space around everything', '\r\n\t {\r\n\t "id" : 1 , "name"\n:\t"Rose"\r}\n\n', { name: 'Rose' }],
      ['keys as escapes', '{"\\u0069\\u0064": 1, "n\\u0061me": "Rose"}', { name: 'Rose' }],
    ]);
    const shown = (body: string): string => JSON.stringify(body.slice(0, 40));
    const notAnObject = NOT_AN_OBJECT.map((body): Refused => [
      shown(body),
      body,
      {},
      /not an object.*"name": "Rose"\}/,
    ]);
    itShouldRefuse(target, 40001, notAnObject);
    const notJson = NOT_JSON.map((body): Refused => [shown(body), body, {}, /not JSON: .* line \d+, column \d+/]);
    itShouldRefuse(target, 40002, notJson);
    itShouldRefuse(target, 40002, [['with the place', '{"id": 1,\n "näme": Rose}', {}, /line 2, column 10/]]);
    const places = NOT_UTF8.flatMap((bytes): Refused[] => [
      [`${bytes.toString('hex')} in a name`, concat('{"id": 1, "name": "', bytes, '"}'), {}, /UTF-8/],
      [`${bytes.toString('hex')} elsewhere`, concat(`{${ROSE}, "x": ["`, bytes, '"]}'), {}, /UTF-8/],
    ]);
    itShouldRefuse(target, 40002, [...places, ...OTHER_BYTES]);
  });

  describe('a missing body', () => {
    itShouldRefuse(target, 40001, [
      ['nothing said about one', '', { ...NO_TYPE, ...NO_LENGTH }, EXAMPLE],
      ['a media type', '', NO_LENGTH, EXAMPLE],
      ['a length of 0', '', {}, EXAMPLE],
      ['a length of 0 and no media type', '', NO_TYPE, EXAMPLE],
      ['no chunks', '0\r\n\r\n', CHUNKED, EXAMPLE],
    ]);
  });
}

const TYPES = [
  ...['APPLICATION/JSON', 'application/json;', 'application/json; charset="Utf-8"', 'application/json ; charset=utf8'],
  ...['application/json; profile="a;b,c"; charset=utf-8', 'application/json; x='.padEnd(256, 'x')],
];
const OTHER_TYPES = [
  ...['', 'json', 'text/plain', 'text/json', 'application/jsonx', 'application/vnd.api+json', 'application/*', '*/*'],
  ...['application/x-www-form-urlencoded', 'application/json, application/json', '"application/json"'],
  ...['latin1', 'UTF-16LE', '"utf-7"'].map((charset) => `application/json; charset=${charset}`),
];
const LONG_TYPES = [
  `text/${'x'.repeat(10_000)}`,
  'application/json; x='.padEnd(257, 'x'),
  'application/json'.padEnd(15_000) + 'x',
];
const ENCODINGS = ['gzip', 'GZIP', 'br', 'zstd', 'x-json', '*', 'gzip, gzip', 'identity, gzip', 'gzip;q=1'];

export function describeMediaTypes(target: () => ContractTarget): void {
  it.each([
    ...TYPES.map((type) => ['Content-Type', type]),
    ...['identity', 'Identity', '', 'identity, identity'].map((coding) => ['Content-Encoding', coding]),
  ])('should accept a body of the %s: %s', async (field, value) => {
    expectCreated(await target().post(PLANT, { [field]: value }), { name: 'Rose' });
  });

  describe('a body of a type that is not supported', () => {
    const right = /must be application\/json in utf-8/;
    itShouldRefuse(target, 41500, [
      ['none', PLANT, NO_TYPE, /missing.*must be application\/json/],
      ['two', PLANT, { 'Content-Type': ['application/json', 'application/json'] }, right],
      ...OTHER_TYPES.map((type): Refused => [type, PLANT, { 'Content-Type': type }, right]),
      ...LONG_TYPES.map((type): Refused => [
        type.slice(0, 40),
        PLANT,
        { 'Content-Type': type },
        /256.*application\/json/,
      ]),
      ...ENCODINGS.map((coding): Refused => {
        return [coding, gzipSync(PLANT), { 'Content-Encoding': coding }, /content encoding.*send it uncompressed/];
      }),
    ]);
  });
}

const MEBIBYTE = 1024 * 1024;

/** @param limit the bytes that a body may have */
export function describeBodySize(target: () => ContractTarget, limit: number): void {
  const FRAME = '{"id":1,"name":""}';
  /** A request with a body of this many bytes; each character of the name's is two of them. */
  function request(bytes: number, isChunked: boolean): { parts: (string | Buffer)[]; name: string } {
    const name = 'ä'
      .repeat(Math.floor((bytes - FRAME.length) / 2))
      .padStart(Math.ceil((bytes - FRAME.length) / 2), 'x');
    const body = Buffer.from(FRAME.replace('""', `"${name}"`));
    expect(body).toHaveLength(bytes);
    const framed = isChunked ? [`${bytes.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'] : [body];
    return { parts: [postHead(target().basePath, body, isChunked ? CHUNKED : {}), ...framed], name };
  }

  describe(`a body sent with a limit of ${limit} bytes`, () => {
    it.each([false, true])(
      'should be read up to the last byte within, and none beyond, chunked: %s',
      async (isChunked) => {
        const response = await target().raw(...request(limit + 1, isChunked).parts);
        expect(await expectNothingWritten(target(), response, 41300)).toContain(`${limit} bytes`);
        const { parts, name } = request(limit, isChunked);
        expectCreated(await target().raw(...parts), { name });
        expect(await storedPlants(target())).toEqual([{ id: '1', name, tag: null, idempotency_key: null }]);
      },
    );

    it('should be refused before it is sent if its length says enough', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', { 'Content-Length': String(1024 * MEBIBYTE) }));
      await expectAnswers(target(), connection, 41300);
    });

    it('should be refused if it does not end', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', CHUNKED));
      for (let sent = 0; sent < 20; sent++) connection.send('100000\r\n', Buffer.alloc(MEBIBYTE, ' '), '\r\n');
      await expectNothingWritten(target(), await connection.response(), 41300);
    });

    it('should not end the connection if it is small enough to be thrown away', async () => {
      using connection = await RawConnection.open(target().port);
      for (const isChunked of [false, true]) {
        connection.send(...request(limit + MEBIBYTE, isChunked).parts);
        await expectAnswers(target(), connection, 41300);
      }
      connection.send(postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 'Rose');
    });
  });
}
