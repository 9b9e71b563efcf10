import { describe, expect, it } from '@jest/globals';
import { DatabaseUnreachableError } from '../database/database.errors.js';
import type { BatchWriter } from './batch-writer.js';
import { PlantsRepository } from './plants.repository.js';

const PLANT = { id: 1n, name: 'Rose', tag: null, idempotencyKey: null, createdBy: null };

describe(PlantsRepository.name, () => {
  function repository(create: BatchWriter['create']): PlantsRepository {
    return new PlantsRepository({ create } as BatchWriter);
  }

  it('should tell what became of a create', async () => {
    const result = { stored: false, holder: PLANT };
    await expect(repository(() => Promise.resolve(result)).create(PLANT)).resolves.toBe(result);
  });

  it.each([
    ['failed', () => Promise.reject(new DatabaseUnreachableError())],
    [
      'could not begin',
      () => {
        throw new DatabaseUnreachableError();
      },
    ],
  ])('should tell what a create that %s means to a client', async (_, create) => {
    await expect(repository(create).create(PLANT)).rejects.toMatchObject({ error: 50300 });
  });
});
