import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Database } from '../database/database.js';
import type { CreateFailures } from './create-failures.js';
import { Lanes } from './lanes.js';
import type { PlantStatements } from './plant-sql.js';
import { PlantsStart } from './plants-start.js';
import type { PlantsModuleSettings } from './plants.options.js';

const RETRY_MS = 60_000;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('should start if it is not known whether the table is distributed, ask again until it is, and not after the end', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const answers = [false, false, true];
  const asked: string[] = [];
  const database = {
    schema: 'public',
    query: (sql: string) => {
      if (!sql.includes('pg_extension')) return Promise.resolve([]);
      asked.push(sql);
      return answers.shift() === false ? Promise.reject(new Error('too many clients')) : Promise.resolve([]);
    },
  } as unknown as Database;
  const statements = {} as PlantStatements;
  const lanes = new Lanes(statements);
  const failures = { readTriggers: () => Promise.resolve() } as CreateFailures;
  const settings = {} as PlantsModuleSettings;
  const start = new PlantsStart(settings, database, statements, lanes, failures);
  await start.attachCitus();
  expect(warn.mock.calls).toEqual([[expect.stringContaining('too many clients')]]);
  await jest.advanceTimersByTimeAsync(RETRY_MS);
  expect(asked).toHaveLength(2);
  lanes.onApplicationShutdown();
  await jest.advanceTimersByTimeAsync(2 * RETRY_MS);
  expect(asked).toHaveLength(2);

  await start.attachCitus();
  await jest.advanceTimersByTimeAsync(2 * RETRY_MS);
  expect(asked).toHaveLength(3);
});
