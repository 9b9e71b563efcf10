import { describe, expect, it } from '@jest/globals';
import { SimulatedTime } from '../../test/support/simulation.js';
import { MAX_BODIES_BYTES } from '../http/read-json-body.js';
import { DatabaseOverloadedError, isUndecided } from '../prisma/database.errors.js';
import { BatchWriter } from './batch-writer.js';
import { PlantsMetrics } from './plants.metrics.js';
import type { PlantRecord, PlantTable } from './plants.repository.js';

const recordOf = (id: bigint, name = 'Rose'): PlantRecord => ({ id, writeId: id, name }) as PlantRecord;

/** A writer on a database that stores every plant. It has one connection for statements. */
function writerWith(onInsert: (plants: readonly PlantRecord[]) => void): { time: SimulatedTime; writer: BatchWriter } {
  const time = new SimulatedTime();
  const statements: PlantTable = {
    shardOf: () => 0,
    isUndecided: isUndecided,
    findExisting: () => Promise.resolve(new Map()),
    insert: (plants) => {
      onInsert(plants);
      const stored = plants.map(({ writeId }) => String(writeId));
      return new Promise((resolve) => time.after(90, resolve.bind(undefined, stored)));
    },
  };
  return {
    time,
    writer: new BatchWriter(statements, { connections: 2, waiting: 10, timeout: 5000 }, new PlantsMetrics()),
  };
}

// What else the writer promises is shown by the simulation.
describe(BatchWriter.name, () => {
  it('should send no more in one statement than 500 plants, or 1 Mi characters', async () => {
    const sizes: number[] = [];
    const { time, writer } = writerWith((plants) => sizes.push(plants.length));
    const create = (count: number, name: string): void => {
      for (let id = 1n; id <= count; id += 1n) void writer.create(recordOf(id, name));
    };
    await time.run(() => {
      create(501, 'Rose');
      time.after(500, () => {
        create(3, 'x'.repeat(2 ** 19));
      });
    }, 2000);
    expect(sizes).toEqual([500, 1, 2, 1]);
  });

  it('should limit the creates without a result by their characters too', async () => {
    const { time, writer } = writerWith(() => undefined);
    const outcomes: unknown[] = [];
    const create = async (id: bigint): Promise<void> => {
      const created = writer.create(recordOf(id, 'x'.repeat(MAX_BODIES_BYTES / 8 + 1)));
      outcomes.push(await created.catch((error: unknown) => error));
    };
    await time.run(() => {
      void create(1n).then(() => create(3n));
      void create(2n);
    }, 1000);
    expect(outcomes).toEqual([expect.any(DatabaseOverloadedError), undefined, undefined]);
  });
});
