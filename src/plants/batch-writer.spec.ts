import { expect, it } from '@jest/globals';
import pg from 'pg';
import { SimulatedTime } from '../../test/support/simulation.js';
import { DatabaseOverloadedError } from '../database/database.errors.js';
import { MAX_BODIES_BYTES } from '../http/body-bytes.js';
import { BatchWriter } from './batch-writer.js';
import type { WriterStatements } from './plant-statements.js';
import { PlantsMetrics } from './plants.metrics.js';
import { isUndecided } from './storage-failure.js';
import { PendingCreate, WriteBudget } from './write-queue.js';

const LOST = new Error('Connection terminated unexpectedly');
const REJECTED = Object.assign(new pg.DatabaseError('', 0, 'error'), { code: '23514', severity: 'ERROR' });

it('Creates that wait are limited by their characters too', () => {
  const budget = new WriteBudget(2, 10_000);
  const name = 'x'.repeat(MAX_BODIES_BYTES / 8 + 1);
  const record = { id: 1n, name, tag: null, idempotencyKey: null, createdBy: null, writeId: 1n };
  const long = new PendingCreate(record, Infinity);
  const admit = (): void => {
    budget.admit(long, 0);
  };
  admit();
  expect(admit).toThrow(DatabaseOverloadedError);
  budget.removeWaiting(long);
  expect(admit).not.toThrow();
});

// What else the writer promises is shown by the simulation.
it('Repeats are sent before singles, and singles before new creates', async () => {
  const time = new SimulatedTime();
  const sent: string[] = [];
  const statements: WriterStatements = {
    pace: 2,
    mayBeStored: isUndecided,
    findExisting: () => Promise.resolve(new Map()),
    insert: (plants) => {
      const failure = [LOST, REJECTED][sent.length];
      sent.push(plants.map(({ name }) => name).join(' '));
      // The first ends before a sweep, so that the second is sent before it is repeated.
      return new Promise((resolve, reject) => {
        time.after(90, () => {
          if (failure) reject(failure);
          else resolve(plants.map(({ writeId }) => String(writeId)));
        });
      });
    },
  };
  // Of two connections one is for statements.
  const writer = new BatchWriter(statements, new WriteBudget(2, 10), 5000, new PlantsMetrics());
  const creates: Promise<unknown>[] = [];
  const createAt = (moment: number, name: string): void => {
    time.after(moment, () => {
      const id = BigInt(creates.length);
      creates.push(writer.create({ id, writeId: id, name, tag: null, idempotencyKey: null, createdBy: null }));
    });
  };

  await time.run(() => {
    createAt(0, 'lost');
    createAt(50, 'a');
    createAt(50, 'b');
    createAt(150, 'new');
  }, 1000);
  await Promise.all(creates);
  expect(sent).toEqual(['lost', 'a b', 'lost', 'a', 'b', 'new']);
});
