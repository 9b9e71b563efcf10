import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProxiedStore } from '../support/service/store.js';
import { until } from '../support/until.js';

describe('What PostgreSQL itself rejects', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    store = await ProxiedStore.start({ DATABASE_POOL_SIZE: '1', STORAGE_TIMEOUT: '2000', ERROR_STATUS: 'semantic' });
    await store.database.query(`
      CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.tag IS NULL THEN RETURN NEW; END IF;
        RAISE EXCEPTION USING ERRCODE = NEW.tag, MESSAGE = 'a detail for the log';
      END $$;
      CREATE TRIGGER reject BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION reject()`);
  });
  afterAll(() => store.stop());

  const sessions = (): Promise<{ pid: number }[]> =>
    store.database.query(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'plant-store' AND datname = current_database()`,
    );

  it.each([
    [50300, '40001', 'serialization failure'],
    [50300, '40P01', 'deadlock'],
    [50300, '53100', 'disk full'],
    [50300, '53200', 'out of memory'],
    [50300, '53300', 'too many connections'],
    [50300, '55P03', 'lock not available'],
    [50300, '57P03', 'cannot connect now'],
    [50300, '58030', 'input or output error'],
    [50400, '40003', 'statement completion unknown'],
    [50400, '08006', 'connection failure, as a pooler reports it'],
    [50000, '42501', 'insufficient privilege'],
    [50000, '23514', 'check violation'],
    [50000, 'XX000', 'internal error'],
  ])('should be answered with %d if the SQLSTATE is %s (%s), on the same connection', async (error, sqlState) => {
    await store.expectCreated(error);
    const before = await sessions();
    expect(before).toHaveLength(1);
    const response = await store.send({ id: 1, name: 'Rose', tag: sqlState });

    expect(store.expectRefused(response, error)).not.toMatch(/a detail|SQL|INSERT|plants"/);
    expect(response.headers['retry-after']).toEqual(error === 50300 ? '1' : undefined);
    expect(await sessions()).toEqual(before);
    await store.database.query('DELETE FROM plants');
  });

  it('should be answered with 50400 if the statement was cancelled, on another connection', async () => {
    await store.expectCreated(1);
    const [before] = await sessions();
    store.expectRefused(await store.send({ id: 2, name: 'Rose', tag: '57014' }), 50400);
    await store.expectCreated(3);
    await until(async () => (await sessions()).length === 1);
    expect(await sessions()).not.toEqual([before]);
    await store.database.query('DELETE FROM plants');
  });

  it('should be no failure if it is a warning', async () => {
    await store.database.query(`
      CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE WARNING 'the wait for synchronous replication';
        RETURN NULL;
      END $$;
      CREATE TRIGGER warn AFTER INSERT ON plants FOR EACH ROW EXECUTE FUNCTION warn()`);
    await store.expectCreated(7);
    const before = await sessions();
    await store.expectCreated(8);
    expect(await sessions()).toEqual(before);
    await store.database.query('DROP FUNCTION warn CASCADE; DELETE FROM plants');
  });

  it('should keep the connection if an id is taken', async () => {
    await store.expectCreated(7);
    const before = await sessions();
    store.expectRefused(await store.create(7), 40901);
    expect(await sessions()).toEqual(before);
  });
});
