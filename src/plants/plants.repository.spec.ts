import { beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseUnreachableError } from '../database/database.errors.js';
import type { BatchWriter } from './batch-writer.js';
import type { CreateFailures } from './create-failures.js';
import { FIELD_NAMES } from './new-plant.js';
import { type PlantStatements, toRecord } from './plant-sql.js';
import { PlantSkippedError } from './plants.errors.js';
import { PlantsRepository } from './plants.repository.js';

const PLANT = toRecord({ id: 1n, name: 'Rose' }, 'key');

describe(PlantsRepository.name, () => {
  const counted: unknown[] = [];
  beforeEach(() => {
    counted.length = 0;
  });

  function create(write: BatchWriter['create'], plant = PLANT): Promise<void> {
    const failures = { count: (failure: unknown) => counted.push(failure) } as unknown as CreateFailures;
    return new PlantsRepository({ create: write } as BatchWriter, {} as PlantStatements, failures).create(plant);
  }

  it('should accept a new plant', async () => {
    await expect(create(() => Promise.resolve({ stored: true }))).resolves.toBeUndefined();
  });

  it('should recognise a request that has created its plant before, repeated by any client', async () => {
    const existingPlant = { ...PLANT, createdBy: 'alice' };
    await expect(create(() => Promise.resolve({ stored: false, existingPlant }))).resolves.toBeUndefined();
  });

  it.each(FIELD_NAMES)('should refuse a key with which the plant was created with another %s', async (name) => {
    const existingPlant = { ...PLANT, [name]: 'another' };
    const creating = create(() => Promise.resolve({ stored: false, existingPlant }));
    await expect(creating).rejects.toMatchObject({ error: 40902 });
    await expect(creating).rejects.toThrow(`with another ${FIELD_NAMES.join(' or ')}. `);
  });

  it.each([
    ['without a key', { ...PLANT, idempotencyKey: null }, undefined],
    ['with another key', PLANT, { ...PLANT, idempotencyKey: 'another' }],
    ['if the plant was created without one', PLANT, { ...PLANT, idempotencyKey: null }],
  ])('should refuse an id that is taken, %s', async (_, plant, existingPlant) => {
    const result = { stored: false, ...(existingPlant && { existingPlant }) };
    await expect(create(() => Promise.resolve(result), plant)).rejects.toMatchObject({ error: 40901 });
  });

  it.each([
    ['failed', () => Promise.reject(new DatabaseUnreachableError())],
    [
      'could not begin',
      () => {
        throw new DatabaseUnreachableError();
      },
    ],
  ])('should say what a create that %s means to a client', async (_, write) => {
    await expect(create(write)).rejects.toMatchObject({ error: 50300 });
    expect(counted).toEqual([]);
  });

  it('should count a failure that will not pass', async () => {
    const failure = new PlantSkippedError(['"skip"']);
    await expect(create(() => Promise.reject(failure))).rejects.toMatchObject({ error: 50000, cause: failure });
    expect(counted).toEqual([failure]);
  });

  it('should tell in a transaction of the host that a trigger left the plant out, and not that its id is taken', async () => {
    const statements = { insertIn: () => Promise.resolve(false), findExistingIn: () => Promise.resolve(undefined) };
    const createIn = (triggers: string[]): Promise<void> =>
      new PlantsRepository(
        {} as BatchWriter,
        statements as unknown as PlantStatements,
        {
          triggers,
          explainMissing: () => Promise.resolve(new PlantSkippedError(triggers)),
        } as unknown as CreateFailures,
      ).createIn(() => Promise.resolve([]), { ...PLANT, idempotencyKey: null });
    await expect(createIn(['"skip"'])).rejects.toMatchObject({ error: 50000 });
    await expect(createIn([])).rejects.toMatchObject({ error: 40901 });
  });
});
