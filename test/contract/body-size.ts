import { beforeEach, describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants, storedPlants } from './stored-plants.js';

const MEBIBYTE = 1024 * 1024;

interface Sent {
  bytes: Buffer;
  headers: Record<string, string | undefined>;
}

function chunked(body: Buffer): Sent {
  const bytes = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
  return { bytes, headers: { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' } };
}

const WAYS: [way: string, send: (body: Buffer) => Sent][] = [
  ['plain', (bytes) => ({ bytes, headers: {} })],
  ['chunked', chunked],
];

/** @param limit the bytes that a body may have */
export function describeBodySize(target: () => ContractTarget, limit: number): void {
  beforeEach(() => removePlants(target()));

  /** A body of this many bytes, each character of the name's two of them. */
  function bodyOf(bytes: number): { body: Buffer; name: string } {
    const frame = '{"id":1,"name":""}';
    const left = bytes - frame.length;
    const name = 'x'.repeat(left % 2) + 'ä'.repeat(Math.floor(left / 2));
    return { body: Buffer.from(`{"id":1,"name":"${name}"}`), name };
  }

  async function send(way: (body: Buffer) => Sent, body: Buffer): ReturnType<ContractTarget['post']> {
    const { bytes, headers } = way(body);
    return target().raw(postHead(target().basePath, bytes, headers), bytes);
  }

  describe(`a body sent with a limit of ${limit} bytes`, () => {
    it.each(WAYS)('should be read up to the last byte within: %s', async (_, way) => {
      const { body, name } = bodyOf(limit);
      expect(body).toHaveLength(limit);
      expectCreated(await send(way, body), { name });
      expect(await storedPlants(target())).toEqual([{ id: '1', name, tag: null, idempotency_key: null }]);
    });

    it.each(WAYS)('should be refused from the first byte beyond: %s', async (_, way) => {
      const message = await expectNothingWritten(target(), await send(way, bodyOf(limit + 1).body), 41300);
      expect(message).toContain(`${limit} bytes`);
    });

    it('should count white space', async () => {
      await expectNothingWritten(target(), await target().post('{"id":1,"name":"x"}'.padEnd(limit + 1)), 41300);
    });

    it('should be refused before it is sent if its length says enough', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', { 'Content-Length': String(1024 * MEBIBYTE) }));
      expectRefusal(await connection.response(), 41300, target().errorStatus);
      await connection.closed();
    });

    it('should be refused, and its connection closed, if it does not end', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(postHead(target().basePath, '', { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }));
      const mebibyte = Buffer.alloc(MEBIBYTE, ' ');
      for (let sent = 0; sent < 20; sent++) connection.send('100000\r\n', mebibyte, '\r\n');
      await expectNothingWritten(target(), await connection.response(), 41300);
      await connection.closed();
    });

    it('should not end the connection if it is small enough to be thrown away', async () => {
      using connection = await RawConnection.open(target().port);
      const large = Buffer.alloc(limit + MEBIBYTE, ' ');
      connection.send(postHead(target().basePath, large), large);
      expectRefusal(await connection.response(), 41300, target().errorStatus);
      const { bytes, headers } = chunked(large);
      connection.send(postHead(target().basePath, '', headers), bytes);
      expectRefusal(await connection.response(), 41300, target().errorStatus);
      connection.send(postHead(target().basePath, '{"id":1,"name":"x"}'), '{"id":1,"name":"x"}');
      expectCreated(await connection.response(), { name: 'x' });
    });
  });
}
