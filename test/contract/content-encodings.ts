import { beforeEach, describe, expect, it } from '@jest/globals';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants } from './stored-plants.js';

const PLANT = '{"id": 1, "name": "Röse"}';

const COMPRESSORS = [
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
] as const;

const ALIKE: [coding: string, body: Buffer][] = [
  ['identity', Buffer.from(PLANT)],
  ['GZIP', gzipSync(PLANT)],
  ['x-gzip', gzipSync(PLANT)],
  ['Br', brotliCompressSync(PLANT)],
  ['DEFLATE', deflateSync(PLANT)],
];

const UNSUPPORTED = [
  'zstd',
  'compress',
  'x-json',
  'utf-8',
  '*',
  'gzip, br',
  'gzip, gzip',
  'identity, gzip',
  'gzip;q=1',
];

const MEBIBYTE = 1024 * 1024;

/** Little bodies that hold hundreds of megabytes of zeros. One gzip file may hold others, one behind the other. */
const BOMBS = {
  gzip: Buffer.concat(Array<Buffer>(32).fill(gzipSync(Buffer.alloc(16 * MEBIBYTE)))),
  br: brotliCompressSync(Buffer.alloc(256 * MEBIBYTE), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  deflate: deflateSync(Buffer.alloc(256 * MEBIBYTE), { level: 1 }),
};

function peakMegabytes(): number {
  return process.resourceUsage().maxRSS / 1024;
}

function flipped(bytes: Buffer, position: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[position] = ~(copy[position] ?? 0);
  return copy;
}

/** @param canRepeat whether the client can send one of these header fields twice */
export function describeContentEncodings(target: () => ContractTarget, canRepeat = true): void {
  beforeEach(() => removePlants(target()));

  async function expectUnreadable(coding: string, body: Buffer): Promise<void> {
    const response = await target().post(body, { 'Content-Encoding': coding });
    const message = await expectNothingWritten(target(), response, 40002);
    expect(message).toContain(coding);
  }

  describe.each(COMPRESSORS)('a body encoded as %s', (coding, compress) => {
    const compressed = compress(PLANT);

    it('should be decoded', async () => {
      expectCreated(await target().post(compressed, { 'Content-Encoding': coding }), { name: 'Röse' });
    });

    it.each([
      ['cut short', compressed.subarray(0, -1)],
      ['cut in half', compressed.subarray(0, compressed.length / 2)],
      ['not encoded at all', Buffer.from(PLANT)],
      ['garbage', Buffer.from('f00dfacef00dface', 'hex')],
      ['followed by garbage', Buffer.concat([compressed, Buffer.from('garbage')])],
      ['followed by a zero', Buffer.concat([compressed, Buffer.alloc(1)])],
      ['followed by a body that is not encoded', Buffer.concat([compressed, Buffer.from(PLANT)])],
    ])('should not be %s', (_, body) => expectUnreadable(coding, body));

    it('should be empty neither encoded nor decoded', async () => {
      const empty = await target().post(compress(''), { 'Content-Encoding': coding });
      await expectNothingWritten(target(), empty, 40001);
      const nothing = await target().post('', { 'Content-Encoding': coding });
      await expectNothingWritten(target(), nothing, 40001);
    });

    it('should be read as strictly as any other', async () => {
      const twice = await target().post(compress('{"id": 1, "id": 1, "name": "Rose"}'), { 'Content-Encoding': coding });
      await expectNothingWritten(target(), twice, 40002);
      const latin1 = await target().post(compress(Buffer.from(PLANT, 'latin1')), { 'Content-Encoding': coding });
      await expectNothingWritten(target(), latin1, 40002);
    });

    it('should not cost what it would unpack to', async () => {
      const before = peakMegabytes();
      const response = await target().post(BOMBS[coding], { 'Content-Encoding': coding });
      await expectNothingWritten(target(), response, 41300);
      expect(peakMegabytes() - before).toBeLessThan(100);
    });
  });

  describe('the Content-Encoding', () => {
    it.each(ALIKE)('may be: %s', async (coding, body) => {
      expectCreated(await target().post(body, { 'Content-Encoding': coding }), { name: 'Röse' });
    });

    it.each(UNSUPPORTED)('should not be: %s', async (coding) => {
      const response = await target().post(gzipSync(PLANT), { 'Content-Encoding': coding });
      const message = await expectNothingWritten(target(), response, 41500);
      expect(message).toContain(`"${coding}"`);
      expect(message).toMatch(/\bgzip, br, deflate\b/);
    });

    if (canRepeat) {
      it('should not be repeated', async () => {
        const response = await target().post(gzipSync(PLANT), { 'Content-Encoding': ['gzip', 'gzip'] });
        await expectNothingWritten(target(), response, 41500);
      });
    }

    it('should decode a gzip file of several members', async () => {
      const body = Buffer.concat([gzipSync(PLANT.slice(0, 9)), gzipSync(PLANT.slice(9))]);
      expectCreated(await target().post(body, { 'Content-Encoding': 'gzip' }), { name: 'Röse' });
    });

    it.each([
      ['checksum of its gzip data', 'gzip', flipped(gzipSync(PLANT), -8 + gzipSync(PLANT).length)],
      ['length of its gzip data', 'gzip', flipped(gzipSync(PLANT), -4 + gzipSync(PLANT).length)],
      ['checksum of its deflate data', 'deflate', flipped(deflateSync(PLANT), deflateSync(PLANT).length - 1)],
      ['frame of its deflate data', 'deflate', deflateRawSync(PLANT)],
    ])('should not let a body pass with a wrong %s', (_, coding, body) => expectUnreadable(coding, body));
  });
}
