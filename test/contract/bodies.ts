import { describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, type RequestHeaders } from '../support/http/request.js';
import {
  type ContractTarget,
  expectAnswers,
  expectCreated,
  expectNothingWritten,
  storedPlants,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

/** Bytes that are no UTF-8, by the fault they have. */
const NOT_UTF8: [what: string, bytes: number[]][] = [
  ['a byte that never occurs', [0xff]],
  ['a lone continuation byte', [0x80]],
  ['Latin-1', [0xe4]],
  ['a character cut short', [0xe2, 0x82]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['an overlong slash of three bytes', [0xe0, 0x80, 0xaf]],
  ['an overlong slash of four bytes', [0xf0, 0x80, 0x80, 0xaf]],
  ['an overlong U+0000', [0xc0, 0x80]],
  ['an encoded surrogate', [0xed, 0xa0, 0x80]],
  ['an emoji as encoded surrogates', [0xed, 0xa0, 0xbc, 0xed, 0xbc, 0xb9]],
  ['a character beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['five bytes', [0xf8, 0x88, 0x80, 0x80, 0x80]],
];

function utf16(text: string): Buffer {
  return Buffer.from(text, 'utf16le');
}

function utf32(text: string): Buffer {
  return Buffer.from(Uint32Array.from(text, (character) => character.codePointAt(0) ?? 0).buffer);
}

export function describeBodyBytes(target: () => ContractTarget): void {
  describe('the bytes of a body', () => {
    it.each(NOT_UTF8)('should not be %s in the name', async (_, bytes) => {
      const body = Buffer.concat([Buffer.from('{"id": 1, "name": "'), Buffer.from(bytes), Buffer.from('"}')]);
      const message = await expectNothingWritten(target(), await target().post(body), 40002);
      expect(message).toContain('UTF-8');
    });

    it.each(NOT_UTF8)('should not be %s in an ignored field', async (_, bytes) => {
      const ignored = Buffer.concat([Buffer.from(', "x": ["'), Buffer.from(bytes), Buffer.from('"]}')]);
      const response = await target().post(Buffer.concat([Buffer.from(PLANT.slice(0, -1)), ignored]));
      await expectNothingWritten(target(), response, 40002);
    });

    it('should not begin with a byte order mark', async () => {
      const message = await expectNothingWritten(target(), await target().post(`\ufeff${PLANT}`), 40002);
      expect(message).toContain('byte order mark');
    });

    it.each([
      ['a byte order mark alone', Buffer.from('\ufeff')],
      ['a byte order mark behind the object', Buffer.from(`${PLANT}\ufeff`)],
      ['UTF-16', utf16(PLANT)],
      ['UTF-16 with a byte order mark', utf16(`\ufeff${PLANT}`)],
      ['UTF-16, big-endian', utf16(PLANT).swap16()],
      ['UTF-16, big-endian, with a byte order mark', utf16(`\ufeff${PLANT}`).swap16()],
      ['UTF-32', utf32(PLANT)],
      ['nothing but zeros', Buffer.alloc(100)],
    ])('should not be %s', async (_, body) => {
      await expectNothingWritten(target(), await target().post(body), 40002);
    });
  });

  describe('a missing body', () => {
    const bare = { 'Content-Type': undefined, 'Content-Length': undefined };

    it.each([
      ['with nothing said about one', bare],
      ['with a media type', { 'Content-Length': undefined }],
      ['with a length of 0', {}],
      ['with a length of 0 and no media type', { 'Content-Type': undefined }],
    ])('should be missed: %s', async (_, headers) => {
      const message = await expectNothingWritten(target(), await target().post('', headers), 40001);
      expect(message).toMatch(/body.*\{"id": 1, "name": "Rose"\}/);
    });

    it('should be missed if the chunked body is empty', async () => {
      const head = postHead(target().basePath, '', CHUNKED);
      await expectNothingWritten(target(), await target().raw(head, '0\r\n\r\n'), 40001);
    });
  });

  it('should read a body that arrives byte by byte', async () => {
    const body = Buffer.from('{"id": 1, "name": "Röse🌹"}');
    const bytes = [...body].map((byte) => Buffer.of(byte));
    expectCreated(await target().raw(postHead(target().basePath, body), ...bytes), { name: 'Röse🌹' });
  });
}

const MEBIBYTE = 1024 * 1024;

type Framed = [headers: RequestHeaders, ...bytes: (string | Buffer)[]];
const chunked = (body: Buffer): Framed => [CHUNKED, `${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'];
const WAYS: [way: string, frame: (body: Buffer) => Framed][] = [
  ['plain', (body) => [{}, body]],
  ['chunked', chunked],
];

/** @param limit the bytes that a body may have */
export function describeBodySize(target: () => ContractTarget, limit: number): void {
  /** A body of this many bytes, each character of the name's two of them. */
  function bodyOf(bytes: number): { body: Buffer; name: string } {
    const frame = '{"id":1,"name":""}';
    const left = bytes - frame.length;
    const name = 'x'.repeat(left % 2) + 'ä'.repeat(Math.floor(left / 2));
    return { body: Buffer.from(`{"id":1,"name":"${name}"}`), name };
  }

  const request = (body: Buffer, way: (body: Buffer) => Framed): (string | Buffer)[] => {
    const [headers, ...bytes] = way(body);
    return [postHead(target().basePath, body, headers), ...bytes];
  };

  describe(`a body sent with a limit of ${limit} bytes`, () => {
    it.each(WAYS)('should be read up to the last byte within: %s', async (_, way) => {
      const { body, name } = bodyOf(limit);
      expect(body).toHaveLength(limit);
      expectCreated(await target().raw(...request(body, way)), { name });
      expect(await storedPlants(target())).toEqual([{ id: '1', name, tag: null, idempotency_key: null }]);
    });

    it.each(WAYS)('should be refused from the first byte beyond: %s', async (_, way) => {
      const response = await target().raw(...request(bodyOf(limit + 1).body, way));
      const message = await expectNothingWritten(target(), response, 41300);
      expect(message).toContain(`${limit} bytes`);
    });

    it('should count white space', async () => {
      await expectNothingWritten(target(), await target().post('{"id":1,"name":"x"}'.padEnd(limit + 1)), 41300);
    });

    it('should be refused before it is sent if its length says enough', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', { 'Content-Length': String(1024 * MEBIBYTE) }));
      await expectAnswers(target(), connection, 41300);
      await connection.closed();
    });

    it('should be refused, and its connection closed, if it does not end', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', CHUNKED));
      const mebibyte = Buffer.alloc(MEBIBYTE, ' ');
      for (let sent = 0; sent < 20; sent++) connection.send('100000\r\n', mebibyte, '\r\n');
      await expectNothingWritten(target(), await connection.response(), 41300);
      await connection.closed();
    });

    it('should not end the connection if it is small enough to be thrown away', async () => {
      using connection = await RawConnection.open(target().port);
      const large = Buffer.alloc(limit + MEBIBYTE, ' ');
      for (const [, way] of WAYS) {
        connection.send(...request(large, way));
        await expectAnswers(target(), connection, 41300);
      }
      connection.send(postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 'Rose');
    });
  });
}
