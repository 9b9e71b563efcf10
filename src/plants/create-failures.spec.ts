import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '../database/database.js';
import { CreateFailures } from './create-failures.js';
import { PlantsStatistics } from './plants-statistics.js';
import { ExistingPlantLookupError, PlantSkippedError } from './plants.errors.js';

describe(CreateFailures.name, () => {
  let failures: CreateFailures;
  let statistics: PlantsStatistics;
  let found: { name: string }[];
  let questions: number;

  beforeEach(() => {
    statistics = new PlantsStatistics();
    found = [];
    questions = 0;
    const query = (): Promise<unknown> => {
      questions += 1;
      return Promise.resolve(found);
    };
    failures = new CreateFailures({ query, schema: 'public' } as unknown as Database, statistics);
  });

  const fail = (code: string, times: number): void => {
    for (let time = 0; time < times; time++) failures.count(new Error('refused', { cause: { code } }));
  };

  it('should suspect the table after five failures with one SQLSTATE, until a plant is created', () => {
    fail('23514', 4);
    fail('P0001', 4);
    expect(failures.isTableSuspected).toBe(false);
    fail('23514', 1);
    expect(failures.isTableSuspected).toBe(true);
    statistics.created += 1;
    expect(failures.isTableSuspected).toBe(false);
    fail('23514', 4);
    expect(failures.isTableSuspected).toBe(false);
    fail('23514', 1);
    expect(failures.isTableSuspected).toBe(true);
  });

  it('should begin anew after an ordinary plant could be created', () => {
    fail('23514', 5);
    failures.forget();
    fail('23514', 4);
    expect(failures.isTableSuspected).toBe(false);
  });

  it('should name the triggers that may have left a plant out, if there are some', async () => {
    expect(await failures.explainMissing()).toBeInstanceOf(ExistingPlantLookupError);
    found = [{ name: 'skip\n\u001b' }];
    const error = await failures.explainMissing();
    expect(error).toBeInstanceOf(PlantSkippedError);
    expect(error.message).toMatch('"skip\\n\\u001b"');
  });

  it('should not ask for triggers again, if it knows of some', async () => {
    found = [{ name: 'skip' }];
    await failures.readTriggers();
    await failures.explainMissing();
    expect(questions).toBe(1);
    expect(failures.triggers).toEqual(['"skip"']);
  });
});
