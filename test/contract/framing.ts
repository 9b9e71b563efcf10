import { describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import {
  CLOSED,
  type ContractTarget,
  exchange,
  expectAnswers,
  expectNothingWritten,
  storedPlants,
} from './contract-target.js';

const ROSE = '{"id": 1, "name": "Röse🌹"}';
const BYTES = Buffer.from(ROSE);
const SIZE = BYTES.length.toString(16);
/** With a limit of 1 MiB. */
const MOST_CHUNKS = 10_000 + 1024;
const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
/** What a request hidden behind another one would do. */
const SMUGGLED = '{"id": 666, "name": "Nightshade"}';

const CHUNKINGS: [what: string, parts: (string | Buffer)[]][] = [
  ['in one chunk', [`${SIZE}\r\n${ROSE}\r\n0\r\n\r\n`]],
  ['in a chunk for each byte', [...[...BYTES].flatMap((byte) => ['1\r\n', Buffer.of(byte), '\r\n']), '0\r\n\r\n']],
  ['in pieces that cut the frame', [SIZE.slice(0, 1), SIZE.slice(1), '\r', '\n', ROSE, '\r', '\n0', '\r\n\r', '\n']],
  ['with upper-case sizes', [`${SIZE.toUpperCase()}\r\n${ROSE}\r\n0\r\n\r\n`]],
  ['with zeros before its size', [`0000${SIZE}\r\n${ROSE}\r\n000\r\n\r\n`]],
  ['with extensions', [`${SIZE};a=b;c="d"\r\n${ROSE}\r\n0;e\r\n\r\n`]],
  ['with trailers', [`${SIZE}\r\n${ROSE}\r\n0\r\nX-Checksum: 1\r\nAuthorization: Bearer x\r\n\r\n`]],
];

const BROKEN_CHUNKS: [what: string, bytes: string][] = [
  ['a size that is no number', `zz\r\n${ROSE}\r\n0\r\n\r\n`],
  ['a negative size', `-1\r\n${ROSE}\r\n0\r\n\r\n`],
  ['a size with a prefix', `0x${SIZE}\r\n${ROSE}\r\n0\r\n\r\n`],
  ['an empty size', `\r\n${ROSE}\r\n0\r\n\r\n`],
  ['a size beyond all bounds', `ffffffffffffffff1\r\n${ROSE}\r\n0\r\n\r\n`],
  ['a chunk longer than its size', `1\r\n${ROSE}\r\n0\r\n\r\n`],
  ['a line that ends without a carriage return', `${SIZE}\n${ROSE}\r\n0\r\n\r\n`],
  ['a broken trailer', `${SIZE}\r\n${ROSE}\r\n0\r\nno colon\r\n\r\n`],
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
  describe('a chunked body', () => {
    it.each(CHUNKINGS)('should be read %s', async (_, parts) => {
      await exchange(target(), [postHead(target().basePath, '', CHUNKED), ...parts], 'Röse🌹');
    });

    it('should be read with any letter case of the coding', async () => {
      const head = postHead(target().basePath, '', { ...CHUNKED, 'Transfer-Encoding': 'Chunked' });
      await exchange(target(), `${head}${SIZE}\r\n${ROSE}\r\n0\r\n\r\n`, 'Röse🌹');
    });

    it('should be read in 10,000 chunks, and one more for each KiB of the limit', async () => {
      const name = 'x'.repeat(MOST_CHUNKS - '{"id":1,"name":""}'.length);
      const chunks = `{"id":1,"name":"${name}"}`.replace(/./g, '1\r\n$&\r\n');
      await exchange(target(), `${postHead(target().basePath, '', CHUNKED)}${chunks}0\r\n\r\n`, name);
    });

    it('should be refused in more chunks, and its connection closed at once', async () => {
      const bytes = postHead(target().basePath, '', CHUNKED) + '1\r\n \r\n'.repeat(MOST_CHUNKS + 1);
      const response = await exchange(target(), bytes, 41300, CLOSED);
      expect(await expectNothingWritten(target(), response, 41300)).toContain(`${MOST_CHUNKS} chunks`);
      expect(response?.headers.connection).toBe('close');
    });

    it.each(BROKEN_CHUNKS)('should be refused for %s', async (_, bytes) => {
      await exchange(target(), postHead(target().basePath, '', CHUNKED) + bytes, 40010, CLOSED);
      expect(await storedPlants(target())).toEqual([]);
    });
  });

  it('should refuse chunks in an HTTP/1.0 request', async () => {
    const head = postHead('', '', CHUNKED).replace('HTTP/1.1', 'HTTP/1.0');
    await exchange(target(), `${head}${SIZE}\r\n${ROSE}\r\n0\r\n\r\n`, 40010, CLOSED);
    expect(await storedPlants(target())).toEqual([]);
  });

  describe('a request with two different ends', () => {
    it.each(AMBIGUOUS)('should be refused for %s, and its connection closed', async (_, headers) => {
      const smuggled = postHead(target().basePath, SMUGGLED) + SMUGGLED;
      const bytes = `${postHead(target().basePath, ROSE, headers)}0\r\n\r\n${smuggled}`;
      const response = await exchange(target(), bytes, 40010, CLOSED);
      expect(response?.headers.connection).toBe('close');
      await target().post(ROSE);
      expect(await storedPlants(target())).toMatchObject([{ id: '1' }]);
    });
  });
}

const PLANT = '{"id": 1, "name": "Rose"}';

const REFUSED: [what: string, headers: RequestHeaders, error: number][] = [
  ['no credential', { Authorization: undefined }, 40100],
  ['a wrong token', { Authorization: 'Bearer wrong' }, 40101],
  ['a malformed credential', { Authorization: 'Bearer' }, 40102],
  ['a wrong media type', { 'Content-Type': 'text/plain' }, 41500],
  ['an unknown encoding', { 'Content-Encoding': 'zstd' }, 41500],
  ['a body that is too large', { 'Content-Length': '2000000' }, 41300],
  ['a body that is far too large', { 'Content-Length': '2000000000' }, 41300],
];

export function describeExpectContinue(target: () => ContractTarget): void {
  describe('Expect: 100-continue', () => {
    it.each(['100-continue', '100-Continue'])('should be answered before the body is sent: %s', async (expectation) => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, PLANT, { Expect: expectation }));
      await expectAnswers(target(), connection, 100);
      connection.send(PLANT, postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 'Rose', 40901);
    });

    it('should be answered if the body does not wait', async () => {
      await exchange(target(), postHead(target().basePath, PLANT, { Expect: '100-continue' }) + PLANT, 100, 'Rose');
    });

    it('should be answered for a body that is refused for what it holds', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '[]', { Expect: '100-continue' }));
      await expectAnswers(target(), connection, 100);
      connection.send('[]', postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 40001, 'Rose');
    });

    it.each(REFUSED)('should be refused at once for %s', async (_, headers, error) => {
      const head = postHead(target().basePath, PLANT, { Expect: '100-continue', ...headers });
      // Nobody knows whether the body follows or the next request.
      const response = await exchange(target(), head, error, CLOSED);
      expect(response?.headers.connection).toBe('close');
      expect(await storedPlants(target())).toEqual([]);
    });

    it('should be ignored in an HTTP/1.0 request', async () => {
      const head = postHead(target().basePath, PLANT, { Expect: '100-continue' }).replace('HTTP/1.1', 'HTTP/1.0');
      await exchange(target(), head + PLANT, 'Rose');
    });
  });

  describe('any other Expect', () => {
    it.each(['200-ok', '100-continued', 'x', ''])('should be refused: %j', async (expectation) => {
      const head = postHead(target().basePath, PLANT, { Expect: expectation });
      const response = await exchange(target(), head + PLANT, 40010, CLOSED);
      const message = await expectNothingWritten(target(), response, 40010);
      expect(message).toContain(`"${expectation}"`);
      expect(message).toContain('"100-continue"');
    });

    it('should be refused with or without a credential', async () => {
      const response = await target().post(PLANT, { Authorization: undefined, Expect: 'x' });
      await expectNothingWritten(target(), response, 40010);
    });
  });
}
