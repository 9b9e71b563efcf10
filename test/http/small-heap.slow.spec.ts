import { describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { ManagedService } from '../support/service/process.js';

const CLIENTS = 64;
const ROUNDS = 3;
const BODY_BYTES = 1_040_000;

/** Names whose body has that many bytes, and which take one or two bytes for each character in memory, or more for a while. */
const NAMES = {
  ASCII: 'x'.repeat(BODY_BYTES),
  'two-byte text': 'ж'.repeat(BODY_BYTES / 2),
  'three-byte text': '漢'.repeat(BODY_BYTES / 3),
  'ASCII with one other character': `${'x'.repeat(BODY_BYTES)}ж`,
  'escapes with one other character': `${'\\"'.repeat(BODY_BYTES / 2)}ж`,
};

describe.each([96, 128, 192])('A service with a heap of %d MB', (megabytes) => {
  it('should refuse with 50301 the large bodies for which it has no memory, and live', async () => {
    await using service = await ManagedService.start({
      NODE_OPTIONS: `--max-old-space-size=${megabytes}`,
      // A machine that is busy with other tests takes its time to send that much.
      REQUEST_TIMEOUT: '120000',
    });
    const numbers = new Set<number>();
    let id = 0;
    for (const name of Object.values(NAMES)) {
      const post = async (): Promise<void> => {
        for (let round = 0; round < ROUNDS; round++) {
          // Not one for all rounds: the connection ends if the rest of a refused body takes longer than 5 seconds.
          using connection = await RawConnection.open(service.process.port);
          const body = `{"id":${++id},"name":"${name}"}`;
          connection.send(postHead('', body), body);
          const response = await connection.response();
          numbers.add((JSON.parse(response?.body ?? '{}') as { error?: number }).error ?? response?.status ?? 0);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, post));
    }
    expect(numbers).toContain(200);
    expect(numbers).toContain(50301);
    // A machine that is busy with collecting garbage may be late.
    expect([200, 50300, 50301, 50400]).toEqual(expect.arrayContaining([...numbers]));
    expect(service.process.isRunning).toBe(true);
  });
});
