import { beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseUnreachableError } from '../database/database.errors.js';
import type { BatchWriter } from './batch-writer.js';
import type { CreateFailures } from './create-failures.js';
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
