import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type DatabaseOptions, MigrationError } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';

describe('a borrowed database that is not ready', () => {
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await createTestDatabase({ migrated: false });
    pool = new pg.Pool({ connectionString: database.url });
  });
  afterEach(async () => {
    await endPool(pool);
    await database.drop();
  });

  const failureOf = async (options: DatabaseOptions): Promise<MigrationError> => {
    const error: unknown = await Guest.start(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MigrationError);
    return error as MigrationError;
  };

  it('should be an error at the start, with what to run', async () => {
    const { code, message } = await failureOf({ pool, schema: 'green' });
    expect(code).toBe('behind');
    expect(message).toMatch(
      'schema green of the database that PlantsModule borrows from the host is not migrated: it lacks ',
    );
    expect(message).toMatch('Run `plant-store migrate`, or `await new Migrator({ url, schema }).migrate()`');
    expect(pool.totalCount).toBe(pool.idleCount);
  });

  it('should be an error at the start if another application has migrated that schema', async () => {
    await pool.query(`CREATE TABLE _prisma_migrations AS
      SELECT '20200101000000_orders' AS migration_name, now() AS started_at, now() AS finished_at, null::timestamptz AS rolled_back_at, '' AS checksum`);
    const { code, message } = await failureOf({ pool });
    expect(code).toBe('unknown');
    expect(message).toMatch(/20200101000000_orders\..* Give the store a schema of its own/);
  });

  it('should be an error at the start if it cannot be reached, or is a client and no pool', async () => {
    const closed = new pg.Pool({ host: '127.0.0.1', port: 1, password: 'secret' });
    const { code, message } = await failureOf({ pool: closed });
    expect(code).toBe('unreachable');
    expect(message).toMatch('cannot use the database that PlantsModule borrows from the host: ');
    expect(message).not.toMatch('secret');
    await closed.end();
    const client = new pg.Client(database.url);
    const ofClient = await failureOf({ pool: client } as unknown as DatabaseOptions);
    expect(ofClient.message).toMatch('it has to be a Pool of pg');
    await client.end();
  });
});
