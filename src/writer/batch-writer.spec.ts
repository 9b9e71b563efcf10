import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { SimulatedTime } from '../../test/support/simulation.js';
import { isUndecided } from '../database/database.errors.js';
import { BatchWriter, WriteStatistics } from './batch-writer.js';

const STATEMENT_MS = 90;
const MINUTE = STATEMENT_MS + 60_000;

interface Row {
  readonly id: bigint;
  readonly writeId: bigint;
  readonly name: string;
}
/** So many creates that come together at a moment. */
type Arrival = readonly [at: number, count: number];

/**
 * The moment and the number of plants of each statement, on a database that takes so many ms for every one. The first may be
 * rejected with a code.
 */
async function statementsOf(
  arrivals: Arrival[],
  { statements = 1, shards = 1, code = '', name = 'Rose', ms = STATEMENT_MS } = {},
) {
  const time = new SimulatedTime();
  const sent: Arrival[] = [];
  const table = {
    shardOf: ({ id }: Row) => Number(id) % shards,
    isUndecided,
    findExisting: () => Promise.resolve(new Map<bigint, Row>()),
    insert: (plants: readonly Row[]): Promise<string[]> => {
      sent.push([time.now, plants.length]);
      const rejection = Object.assign(new pg.DatabaseError('', 0, 'error'), { code, severity: 'ERROR' });
      const isRejected = sent.length === 1 && code !== '';
      return new Promise((resolve, reject) =>
        time.after(ms, () => {
          if (isRejected) reject(rejection);
          else resolve(plants.map(({ writeId }) => String(writeId)));
        }),
      );
    },
  };
  const writer = new BatchWriter<Row>(table, { statements, waiting: 1000, timeout: 5000 }, new WriteStatistics());
  const create = (count: number): void => {
    for (let id = 1n; id <= count; id += 1n) void writer.create({ id, writeId: id, name });
  };
  const begin = (): void => {
    for (const [at, count] of arrivals) time.after(at, create.bind(undefined, count));
  };
  await time.run(begin, 2000);
  return sent;
}

// What else the writer promises is shown by the simulation.
describe(BatchWriter.name, () => {
  it('should send no more in one statement than 500 plants, or 128 Ki characters', async () => {
    const sizes = async (count: number, name?: string) =>
      (await statementsOf([[0, count]], { name })).map(([, n]) => n);
    expect(await sizes(501)).toEqual([500, 1]);
    expect(await sizes(3, 'x'.repeat(2 ** 16))).toEqual([2, 1]);
  });

  it('should send a second statement when it carries as many plants as the first, and no third', async () => {
    const arrivals: Arrival[] = [
      [0, 3],
      [10, 2],
      [20, 2],
      [30, 9],
    ];
    expect(await statementsOf(arrivals, { statements: 9 })).toEqual([
      [0, 3],
      [20, 4],
      [STATEMENT_MS, 9],
    ]);
  });

  it('should send the plants of another shard as soon as a statement ends', async () => {
    expect(await statementsOf([[0, 2]], { shards: 2 })).toEqual([
      [0, 1],
      [STATEMENT_MS, 1],
    ]);
  });

  it('should send one statement of several plants at a time for a minute after a deadlock', async () => {
    const arrivals = [0, 50, MINUTE - 10, MINUTE - 5, MINUTE + 200, MINUTE + 210].map((at): Arrival => [at, 2]);
    expect(await statementsOf(arrivals, { statements: 9, code: '40P01' })).toEqual([
      [0, 2],
      [50, 2],
      // Those of the rejected statement, each alone.
      [STATEMENT_MS, 1],
      [STATEMENT_MS, 1],
      [MINUTE - 10, 2],
      [MINUTE - 10 + STATEMENT_MS, 2],
      // The minute is over.
      [MINUTE + 200, 2],
      [MINUTE + 210, 2],
    ]);
  });

  it('should send no second one for a slow one in that minute', async () => {
    const arrivals = [0, 1000, 1010, 1020].map((at): Arrival => [at, 2]);
    expect(await statementsOf(arrivals, { statements: 9, code: '40P01', ms: 300 })).toEqual([
      [0, 2],
      [300, 1],
      [300, 1],
      [1000, 2],
      [1300, 4],
    ]);
  });

  it('should send those of a lost statement again before all others, and never together with new ones', async () => {
    const [one, three] = [STATEMENT_MS + 30, STATEMENT_MS + 40];
    expect(
      await statementsOf(
        [
          [0, 2],
          [one, 1],
          [three, 3],
        ],
        { code: '08006' },
      ),
    ).toEqual([
      [0, 2],
      [one, 1],
      [one + STATEMENT_MS, 2],
      [one + 2 * STATEMENT_MS, 3],
    ]);
  });
});
