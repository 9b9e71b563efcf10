import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, startStore, type Store } from '../support/service/store.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const EDGES = [MIN, MIN + 1n, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, MAX - 1n, MAX];
/** Half of the ids lie close to where a float, an int32 or an int64 would break. */
const ids = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  fc
    .tuple(fc.constantFrom(...EDGES, 2n ** 31n, -(2n ** 31n), 2n ** 62n), fc.bigInt({ min: -2000n, max: 2000n }))
    .map(([edge, offset]) => edge + offset)
    .filter((id) => id >= MIN && id <= MAX),
);

describe('ids', () => {
  let store: Store;
  let connection: RawConnection;

  beforeAll(async () => {
    store = await startStore();
    connection = await RawConnection.open(store.port);
  });
  afterAll(async () => {
    connection.close();
    await store.stop();
  });

  async function create(id: string, name: string): Promise<number | undefined> {
    const body = `{"id": ${id}, "name": ${JSON.stringify(name)}}`;
    connection.send(postHead('', body), body);
    return (await connection.response())?.status;
  }

  it('should reach the disk exactly as they were sent, over all of int64', async () => {
    const sent = new Set<bigint>();
    const property = fc.asyncProperty(ids, fc.constantFrom('', '.0', 'e0', '.000e+0'), async (id, suffix) => {
      expect(await create(`${id}${suffix}`, id.toString())).toBe(sent.has(id) ? 400 : 200);
      sent.add(id);
    });
    await fc.assert(property, { numRuns: 300, examples: EDGES.map((id) => [id, ''] as [bigint, string]) });

    const rows = await store.database.query<{ id: string; name: string }>(
      'SELECT id::text, name FROM plants ORDER BY plants.id',
    );
    const expected = [...sent].sort((a, b) => (a < b ? -1 : 1)).map((id) => ({ id: `${id}`, name: `${id}` }));
    expect(rows).toEqual(expected);
  });

  it('should be refused outside of int64, and change nothing', async () => {
    const before = await store.database.query('SELECT count(*) FROM plants');
    const outside = fc.oneof(fc.bigInt({ min: MAX + 1n, max: MAX * 4n }), fc.bigInt({ min: MIN * 4n, max: MIN - 1n }));
    const property = fc.asyncProperty(outside, async (id) => {
      expect(await create(`${id}`, 'beyond')).toBe(400);
    });
    await fc.assert(property, { numRuns: 50, examples: [[MAX + 1n], [MIN - 1n]] });
    expect(await store.database.query('SELECT count(*) FROM plants')).toEqual(before);
  });
});
