import { expect, it } from '@jest/globals';
import { createTestDatabase, TableLock } from '../support/database/test-database.js';
import { expectFailure } from '../support/service/run-command-line.js';

it('should give up on a table that stays locked, and have changed nothing', async () => {
  const database = await createTestDatabase();
  const lock = await TableLock.take(database, 'access_tokens');
  try {
    const variables = { DATABASE_URL: database.url };
    await Promise.all([
      expectFailure('token create  ci', variables, 'canceling statement due to statement timeout'),
      expectFailure('token list', variables, 'canceling statement due to statement timeout'),
    ]);
  } finally {
    await lock.release();
  }
  expect(await database.query('SELECT FROM access_tokens')).toEqual([]);
  await database.drop();
});
