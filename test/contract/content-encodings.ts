import { beforeEach, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants } from './stored-plants.js';

const PLANT = '{"id": 1, "name": "Röse"}';

const REFUSED = [
  ...['gzip', 'GZIP', 'x-gzip', 'br', 'deflate', 'zstd', 'compress', 'x-json', 'utf-8', '*'],
  ...['gzip, br', 'gzip, gzip', 'identity, gzip', 'identity, identity', 'gzip;q=1'],
];

/** @param canRepeat whether the client can send one of these header fields twice */
export function describeContentEncodings(target: () => ContractTarget, canRepeat = true): void {
  beforeEach(() => removePlants(target()));

  describe('the Content-Encoding', () => {
    it.each(['identity', 'Identity'])('may be: %s', async (coding) => {
      expectCreated(await target().post(PLANT, { 'Content-Encoding': coding }), { name: 'Röse' });
    });

    it.each(REFUSED)('should not be: %s', async (coding) => {
      const response = await target().post(gzipSync(PLANT), { 'Content-Encoding': coding });
      const message = await expectNothingWritten(target(), response, 41500);
      expect(message).toContain(`"${coding}"`);
      expect(message).toContain('send it uncompressed');
    });

    if (canRepeat) {
      it.each(['gzip', 'identity'])('should not be repeated: %s', async (coding) => {
        const response = await target().post(PLANT, { 'Content-Encoding': [coding, coding] });
        await expectNothingWritten(target(), response, 41500);
      });
    }
  });
}
