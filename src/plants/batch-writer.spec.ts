import { describe, expect, it } from '@jest/globals';
import { DriverAdapterError } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { SimulatedTime } from '../../test/support/simulation.js';
import { DatabaseOverloadedError, DatabaseTimeoutError } from '../prisma/database.errors.js';
import { MAX_BODIES_BYTES } from '../http/body-bytes.js';
import { BatchWriter } from './batch-writer.js';
import type { PlantRecord, WriterStatements } from './plant-statements.js';
import { PlantsMetrics } from './plants.metrics.js';
import { isPlantRejected, isUndecided, storageError } from './storage-failure.js';
import { PendingCreate, WriteBudget } from './write-queue.js';

const LOST = new Error('Connection terminated unexpectedly');
const REJECTED = Object.assign(new pg.DatabaseError('', 0, 'error'), { code: '23514', severity: 'ERROR' });
const recordOf = (name: string, id = 1n): PlantRecord => {
  return { id, writeId: id, name, tag: null, idempotencyKey: null, createdBy: null };
};

describe(WriteBudget.name, () => {
  it('should limit the creates that wait by their characters too', () => {
    const budget = new WriteBudget(2, 10_000);
    const long = new PendingCreate(recordOf('x'.repeat(MAX_BODIES_BYTES / 8 + 1)), Infinity);
    const admit = (): void => {
      budget.admit(long, 0);
    };
    admit();
    expect(admit).toThrow(DatabaseOverloadedError);
    budget.removeWaiting(long);
    expect(admit).not.toThrow();
  });
});

// What else the writer promises is shown by the simulation.
describe(BatchWriter.name, () => {
  it('should send repeats before singles, and singles before new creates', async () => {
    const time = new SimulatedTime();
    const sent: string[] = [];
    const statements: WriterStatements = {
      pace: 2,
      mayBeStored: isUndecided,
      findExisting: () => Promise.resolve(new Map()),
      insert: (plants) => {
        const failure = [LOST, REJECTED][sent.length];
        sent.push(plants.map(({ name }) => name).join(' '));
        const stored = plants.map(({ writeId }) => String(writeId));
        // The first ends before a sweep, so that the second is sent before it is repeated.
        return new Promise((resolve, reject) => {
          time.after(90, () => {
            if (failure) reject(failure);
            else resolve(stored);
          });
        });
      },
    };
    // Of two connections one is for statements.
    const writer = new BatchWriter(statements, new WriteBudget(2, 10), 5000, new PlantsMetrics());
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
});

const adapterError = (cause: object): Error => new DriverAdapterError(cause as never);
const rejected = (originalCode: string, severity?: string): Error => adapterError({ originalCode, severity });
const ofClient = (driverAdapterError: Error): Error => Object.assign(new Error(), { meta: { driverAdapterError } });

describe(storageError.name, () => {
  it.each([
    ['the server is read-only for now', 50300, false, rejected('25006', 'ERROR')],
    ['an operator intervened', 50300, false, rejected('57P03', 'ERROR')],
    ['the system failed', 50300, false, rejected('58030', 'ERROR')],
    ['an object was in use', 50300, true, rejected('55P03', 'ERROR')],
    ['the statement was cancelled', 50400, false, rejected('57014', 'ERROR')],
    ['the server does not know itself', 50400, false, rejected('40003', 'ERROR')],
    ['the session was ended', 50400, false, rejected('57P01', 'FATAL')],
    ['the whole server went down', 50400, false, rejected('53100', 'PANIC')],
    ['the severity is in a language unknown to us', 50400, false, rejected('53100', 'ERREUR')],
    ['the connection was closed', 50400, false, adapterError({ kind: 'ConnectionClosed' })],
    ['no answer came in time', 50400, false, new DatabaseTimeoutError()],
    ['pg waited for too long', 50400, false, new Error('Query read timeout')],
    ['something that is no error was thrown', 50400, false, undefined],
    ["a privilege is missing, in an error of Prisma's client", 50000, false, ofClient(rejected('42501', 'ERROR'))],
    ['a constraint is violated, in another language', 50000, true, rejected('23514', 'FEHLER')],
    ['the adapter knows the kind of rejection', 50000, true, rejected('23505')],
    ['the server has a bug', 50000, true, rejected('XX000', 'ERROR')],
  ])('should, if %s, be %d, perhaps for one plant alone: %s', (_, error, isOfOne, cause) => {
    const failure = storageError(cause);
    expect([failure.error, failure.cause, isUndecided(cause)]).toEqual([error, cause, error === 50400]);
    // Of what is undecided, nothing is sent alone.
    if (error !== 50400) expect(isPlantRejected(cause)).toBe(isOfOne);
  });
});
