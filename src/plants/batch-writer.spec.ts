import { describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { SimulatedTime } from '../../test/support/simulation.js';
import { DatabaseOverloadedError, isUndecided } from '../prisma/database.errors.js';
import { MAX_BODIES_BYTES } from '../http/body-bytes.js';
import { BatchWriter } from './batch-writer.js';
import { PlantsMetrics } from './plants.metrics.js';
import type { PlantRecord, PlantStatements } from './plants.repository.js';

const LOST = new Error('Connection terminated unexpectedly');
const REJECTED = Object.assign(new pg.DatabaseError('', 0, 'error'), { code: '23514', severity: 'ERROR' });
const recordOf = (name: string, id = 1n): PlantRecord => {
  return { id, writeId: id, name, tag: null, idempotencyKey: null, createdBy: null };
};

/** A statement takes so long: less than until a sweep, so that the next one is sent before it is repeated. */
const STATEMENT_MS = 90;

/** A writer on statements that fail in turn with these, and then succeed. Of its two connections one is for statements. */
function writerWith(onInsert: (plants: readonly PlantRecord[]) => void, failures: readonly Error[] = []) {
  const time = new SimulatedTime();
  let sent = 0;
  const statements: PlantStatements = {
    shardOf: () => 0,
    mayBeStored: isUndecided,
    findExisting: () => Promise.resolve(new Map()),
    insert: (plants) => {
      onInsert(plants);
      const failure = failures[sent++];
      return new Promise((resolve, reject) => {
        time.after(STATEMENT_MS, () => {
          if (failure) reject(failure);
          else resolve(plants.map(({ writeId }) => String(writeId)));
        });
      });
    },
  };
  const writer = new BatchWriter(statements, { connections: 2, waiting: 10, timeout: 5000 }, new PlantsMetrics());
  return { time, writer };
}

// What else the writer promises is shown by the simulation.
describe(BatchWriter.name, () => {
  it('should send repeats before singles, and singles before new creates', async () => {
    const sent: string[] = [];
    const note = (plants: readonly PlantRecord[]): unknown => sent.push(plants.map(({ name }) => name).join(' '));
    const { time, writer } = writerWith(note, [LOST, REJECTED]);
    const createAt = (moment: number, name: string, id: bigint): void => {
      time.after(moment, () => void writer.create(recordOf(name, id)));
    };
    await time.run(() => {
      createAt(0, 'lost', 1n);
      createAt(50, 'a', 2n);
      createAt(50, 'b', 3n);
      createAt(150, 'new', 4n);
    }, 1000);
    expect(sent).toEqual(['lost', 'a b', 'lost', 'a', 'b', 'new']);
  });

  it('should send a statement in the async context of its first create, where tracers look for it', async () => {
    const caller = new AsyncLocalStorage<string>();
    const callers: unknown[] = [];
    const { time, writer } = writerWith(() => callers.push(caller.getStore()));
    const createAt = (moment: number, name: string, id: bigint): void => {
      time.after(moment, () => void caller.run(name, () => writer.create(recordOf(name, id))));
    };
    await time.run(() => {
      createAt(0, 'a', 1n);
      // These wait for the statement of the first, and share the next one.
      createAt(50, 'b', 2n);
      createAt(60, 'c', 3n);
    }, 1000);
    expect(callers).toEqual(['a', 'b']);
  });

  it('should limit the creates without a result by their characters too', async () => {
    const { time, writer } = writerWith(() => undefined);
    const create = (id: bigint): Promise<unknown> => writer.create(recordOf('x'.repeat(MAX_BODIES_BYTES / 8 + 1), id));
    await time.run(() => {
      const first = create(1n);
      void expect(create(2n)).rejects.toThrow(DatabaseOverloadedError);
      void first.then(() => expect(create(3n)).resolves.toBeUndefined());
    }, 1000);
    expect.assertions(2);
  });
});
