import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { DatabaseOptions } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';

/** The inserts that were prepared in a session, recorded by a trigger: how often each was executed. */
const TELL = `
  CREATE TABLE told (executions text);
  CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO public.told
      SELECT string_agg((generic_plans + custom_plans)::text, ' ') FROM pg_prepared_statements WHERE statement LIKE 'INSERT%';
    RETURN NULL;
  END $$;
  CREATE TRIGGER tell AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION tell()`;

describe('the statements of a store', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(TELL);
  });
  afterAll(() => database.drop());

  async function told(options: DatabaseOptions): Promise<unknown[]> {
    await database.query('TRUNCATE told, plants');
    const guest = await Guest.start(options);
    for (const id of [1, 2, 3]) await guest.expectCreated(id);
    await guest.stop();
    return (await database.query<{ executions: unknown }>('SELECT executions FROM told')).map(
      ({ executions }) => executions,
    );
  }

  it('should be prepared once on a connection', async () => {
    expect(await told({ url: database.url, size: 1 })).toEqual(['1', '2', '3']);
  });

  it.each(['pgbouncer=true', 'statement_cache_size=0'])(
    'should not be prepared if the URL says %s',
    async (parameter) => {
      const url = `${database.url}${database.url.includes('?') ? '&' : '?'}${parameter}`;
      expect(await told({ url, size: 1 })).toEqual([null, null, null]);
    },
  );

  it('should not be prepared on borrowed connections', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    expect(await told({ pool })).toEqual([null, null, null]);
    await endPool(pool);
  });
});
