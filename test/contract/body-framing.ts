import { beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants, storedPlants } from './stored-plants.js';

const PLANT = '{"id": 1, "name": "Röse🌹"}';
const BYTES = Buffer.from(PLANT);
const SIZE = BYTES.length.toString(16);
/** With a limit of 1 MiB. */
const MOST_CHUNKS = 10_000 + 1024;
const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
/** What a request hidden behind another one would do. */
const SMUGGLED = '{"id": 666, "name": "Nightshade"}';

const CHUNKINGS: [what: string, parts: (string | Buffer)[]][] = [
  ['in one chunk', [`${SIZE}\r\n${PLANT}\r\n0\r\n\r\n`]],
  ['in a chunk for each byte', [...[...BYTES].flatMap((byte) => ['1\r\n', Buffer.of(byte), '\r\n']), '0\r\n\r\n']],
  ['in pieces that cut the frame', [SIZE.slice(0, 1), SIZE.slice(1), '\r', '\n', PLANT, '\r', '\n0', '\r\n\r', '\n']],
  ['with upper-case sizes', [`${SIZE.toUpperCase()}\r\n${PLANT}\r\n0\r\n\r\n`]],
  ['with zeros before its size', [`0000${SIZE}\r\n${PLANT}\r\n000\r\n\r\n`]],
  ['with extensions', [`${SIZE};a=b;c="d"\r\n${PLANT}\r\n0;e\r\n\r\n`]],
  ['with trailers', [`${SIZE}\r\n${PLANT}\r\n0\r\nX-Checksum: 1\r\nAuthorization: Bearer x\r\n\r\n`]],
];

const BROKEN_CHUNKS: [what: string, bytes: string][] = [
  ['a size that is no number', `zz\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a negative size', `-1\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size with a prefix', `0x${SIZE}\r\n${PLANT}\r\n0\r\n\r\n`],
  ['an empty size', `\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size beyond all bounds', `ffffffffffffffff1\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a chunk longer than its size', `1\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a line that ends without a carriage return', `${SIZE}\n${PLANT}\r\n0\r\n\r\n`],
  ['a broken trailer', `${SIZE}\r\n${PLANT}\r\n0\r\nno colon\r\n\r\n`],
];

const AMBIGUOUS: [what: string, headers: RequestHeaders][] = [
  ['Content-Length and Transfer-Encoding', { 'Transfer-Encoding': 'chunked' }],
  ['two Content-Lengths', { 'Content-Length': ['5', String(BYTES.length)] }],
  ['one Content-Length twice', { 'Content-Length': [String(BYTES.length), String(BYTES.length)] }],
  ['a list of Content-Lengths', { 'Content-Length': `${BYTES.length}, ${BYTES.length}` }],
  ...['-1', '+5', '0x1b', '5 5', '1e1', '5.0', '"5"', 'x', '', '99999999999999999999'].map(
    (length): [string, RequestHeaders] => [`a Content-Length of "${length}"`, { 'Content-Length': length }],
  ),
  ...['gzip, chunked', 'chunked, gzip', 'chunked, chunked', 'gzip', 'identity', 'xchunked', '"chunked"', ''].map(
    (coding): [string, RequestHeaders] => [
      `a Transfer-Encoding of ${coding}`,
      { 'Content-Length': undefined, 'Transfer-Encoding': coding },
    ],
  ),
  ['two Transfer-Encodings', { 'Content-Length': undefined, 'Transfer-Encoding': ['chunked', 'identity'] }],
  ['one Transfer-Encoding twice', { 'Content-Length': undefined, 'Transfer-Encoding': ['chunked', 'chunked'] }],
  ['a blank before a colon', { 'Content-Length': undefined, 'Transfer-Encoding ': 'chunked' }],
];

export function describeBodyFraming(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));

  describe('a chunked body', () => {
    it.each(CHUNKINGS)('should be read %s', async (_, parts) => {
      const response = await target().raw(postHead(target().basePath, '', CHUNKED), ...parts);
      expectCreated(response, { name: 'Röse🌹' });
    });

    it('should be read with any letter case of the coding', async () => {
      const headers = { ...CHUNKED, 'Transfer-Encoding': 'Chunked' };
      const response = await target().raw(postHead(target().basePath, '', headers), `${SIZE}\r\n${PLANT}\r\n0\r\n\r\n`);
      expectCreated(response, { name: 'Röse🌹' });
    });

    it('should be read in 10,000 chunks, and one more for each KiB of the limit', async () => {
      const name = 'x'.repeat(MOST_CHUNKS - '{"id":1,"name":""}'.length);
      const chunks = `{"id":1,"name":"${name}"}`.replace(/./g, '1\r\n$&\r\n');
      expectCreated(await target().raw(postHead(target().basePath, '', CHUNKED), `${chunks}0\r\n\r\n`), { name });
    });

    it('should be refused in more chunks, and its connection closed at once', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', CHUNKED), '1\r\n \r\n'.repeat(MOST_CHUNKS + 1));
      const response = await connection.response();
      expect(await expectNothingWritten(target(), response, 41300)).toContain(`${MOST_CHUNKS} chunks`);
      expect(response?.headers.connection).toBe('close');
      expect(await connection.response()).toBeUndefined();
    });

    it.each(BROKEN_CHUNKS)('should be refused for %s', async (_, bytes) => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', CHUNKED), bytes);
      await expectNothingWritten(target(), await connection.response(), 40010);
      expect(await connection.response()).toBeUndefined();
    });
  });

  it('should refuse chunks in an HTTP/1.0 request', async () => {
    using connection = await RawConnection.open(target().port);
    connection.send(`${postHead('', '', CHUNKED).replace('HTTP/1.1', 'HTTP/1.0')}${SIZE}\r\n${PLANT}\r\n0\r\n\r\n`);
    await expectNothingWritten(target(), await connection.response(), 40010);
    expect(await connection.response()).toBeUndefined();
  });

  describe('a request with two different ends', () => {
    it.each(AMBIGUOUS)('should be refused for %s, and its connection closed', async (_, headers) => {
      using connection = await RawConnection.open(target().port);
      const smuggled = postHead(target().basePath, SMUGGLED) + SMUGGLED;
      connection.send(`${postHead(target().basePath, PLANT, headers)}0\r\n\r\n${smuggled}`);
      const response = await connection.response();
      expectRefusal(response, 40010, target().errorStatus);
      expect(response?.headers.connection).toBe('close');
      expect(await connection.response()).toBeUndefined();
      await target().post(PLANT);
      expect(await storedPlants(target())).toMatchObject([{ id: '1' }]);
    });
  });
}
