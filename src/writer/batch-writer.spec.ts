import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { SimulatedTime } from '../../test/support/simulation.js';
import { isUndecided } from '../prisma/database.errors.js';
import type { PlantRecord } from '../plants/plants.repository.js';
import { BatchWriter, WriteStatistics } from './batch-writer.js';

const STATEMENT_MS = 90;
const recordOf = (id: number, name = 'Rose'): PlantRecord =>
  ({ id: BigInt(id), writeId: BigInt(id), name }) as PlantRecord;
const rejection = (code: string): Error =>
  Object.assign(new pg.DatabaseError('', 0, 'error'), { code, severity: 'ERROR' });

/** A statement that was sent: when, and its plants. */
type Sent = readonly [at: number, plants: readonly PlantRecord[]];

/** A writer on a database that takes 90 ms for every statement. The first one may be rejected with a code. */
function writerWith({ statements = 1, shards = 1, code = '' } = {}) {
  const time = new SimulatedTime();
  const sent: Sent[] = [];
  const table = {
    shardOf: ({ id }: PlantRecord) => Number(id) % shards,
    isUndecided,
    findExisting: () => Promise.resolve(new Map<bigint, PlantRecord>()),
    insert: (plants: readonly PlantRecord[]): Promise<string[]> => {
      sent.push([time.now, plants]);
      const isFirst = sent.length === 1;
      return new Promise((resolve, reject) =>
        time.after(STATEMENT_MS, () => {
          if (isFirst && code !== '') reject(rejection(code));
          else resolve(plants.map(({ writeId }) => String(writeId)));
        }),
      );
    },
  };
  const writer = new BatchWriter(table, { statements, waiting: 1000, timeout: 5000 }, new WriteStatistics());
  const create = (count: number, name?: string): void => {
    for (let id = 1; id <= count; id += 1) void writer.create(recordOf(id, name));
  };
  return { time, create, sizes: () => sent.map(([at, plants]) => [at, plants.length]) };
}

// What else the writer promises is shown by the simulation.
describe(BatchWriter.name, () => {
  it('should send no more in one statement than 500 plants, or 128 Ki characters', async () => {
    const { time, create, sizes } = writerWith();
    await time.run(() => {
      create(501);
      time.after(500, () => {
        create(3, 'x'.repeat(2 ** 16));
      });
    }, 2000);
    expect(sizes().map(([, size]) => size)).toEqual([500, 1, 2, 1]);
  });

  it('should send a second statement when it carries as many plants as the first, and no third', async () => {
    const { time, create, sizes } = writerWith({ statements: 9 });
    await time.run(() => {
      create(3);
      for (const at of [10, 20]) {
        time.after(at, () => {
          create(2);
        });
      }
      time.after(30, () => {
        create(9);
      });
    }, 2000);
    expect(sizes()).toEqual([
      [0, 3],
      [20, 4],
      [STATEMENT_MS, 9],
    ]);
  });

  it('should send the plants of another shard as soon as a statement ends', async () => {
    const { time, create, sizes } = writerWith({ shards: 2 });
    await time.run(() => {
      create(2);
    }, 2000);
    expect(sizes()).toEqual([
      [0, 1],
      [STATEMENT_MS, 1],
    ]);
  });

  it.each(['40P01', '55P03'])(
    'should send one statement of several plants at a time for a minute after a lock problem (%s)',
    async (code) => {
      const { time, create, sizes } = writerWith({ statements: 9, code });
      const minute = STATEMENT_MS + 60_000;
      await time.run(() => {
        create(2);
        for (const at of [50, minute - 10, minute - 5, minute + 200, minute + 210]) {
          time.after(at, () => {
            create(2);
          });
        }
      }, 2000);
      expect(sizes()).toEqual([
        [0, 2],
        [50, 2],
        // Those of the rejected statement, each alone.
        [STATEMENT_MS, 1],
        [STATEMENT_MS, 1],
        [minute - 10, 2],
        [minute - 10 + STATEMENT_MS, 2],
        // The minute is over.
        [minute + 200, 2],
        [minute + 210, 2],
      ]);
    },
  );

  it('should hold back no create by the plants of a statement that waited too long for a lock', async () => {
    const { time, create, sizes } = writerWith({ statements: 9, code: '55P03' });
    await time.run(() => {
      create(8);
      time.after(STATEMENT_MS + 10, () => {
        create(2);
      });
    }, 2000);
    expect(sizes().slice(0, 7)).toEqual([
      [0, 8],
      ...Array<number[]>(5).fill([STATEMENT_MS, 1]),
      [STATEMENT_MS + 10, 2],
    ]);
  });

  it('should send those of a lost statement again before all others, and never together with new ones', async () => {
    const { time, create, sizes } = writerWith({ code: '08006' });
    await time.run(() => {
      create(2);
      time.after(STATEMENT_MS + 30, () => {
        create(1);
      });
      time.after(STATEMENT_MS + 40, () => {
        create(3);
      });
    }, 2000);
    expect(sizes()).toEqual([
      [0, 2],
      [STATEMENT_MS + 30, 1],
      [2 * STATEMENT_MS + 30, 2],
      [3 * STATEMENT_MS + 30, 3],
    ]);
  });
});
