import { describe, expect, it } from '@jest/globals';
import { DatabaseUnreachableError } from '../database/database.errors.js';
import type { BatchWriter } from './batch-writer.js';
import { FIELD_NAMES } from './new-plant.js';
import { type PlantStatements, toRecord } from './plant-sql.js';
import { PlantsRepository } from './plants.repository.js';

const PLANT = toRecord({ id: 1n, name: 'Rose' }, 'key');

describe(PlantsRepository.name, () => {
  function create(write: BatchWriter['create'], plant = PLANT): Promise<boolean> {
    return new PlantsRepository({ create: write } as BatchWriter, {} as PlantStatements).create(plant);
  }

  it('should say of a new plant that it is', async () => {
    await expect(create(() => Promise.resolve({ stored: true }))).resolves.toBe(true);
  });

  it('should recognise a request that has created its plant before, whoever repeats it', async () => {
    const existingPlant = { ...PLANT, createdBy: 'alice' };
    await expect(create(() => Promise.resolve({ stored: false, existingPlant }))).resolves.toBe(false);
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
    ['where the plant was created without one', PLANT, { ...PLANT, idempotencyKey: null }],
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
  });
});
