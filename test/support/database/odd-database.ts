import { createTestDatabase, type TestDatabase } from './test-database.js';

/** As a database of somebody else's may be: days of 23 hours, and transactions that would see nothing of others. */
export async function createOddDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await database.query(`ALTER DATABASE "${name}" SET timezone TO 'America/New_York'`);
  await database.query(`ALTER DATABASE "${name}" SET default_transaction_isolation TO 'repeatable read'`);
  return database;
}
