import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { describeContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/running-target.js';
import { describeWithPgBouncer, PgBouncer } from '../support/database/pgbouncer.js';
import { TableLock } from '../support/database/table-lock.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { errorOf, NO_PLANT } from '../support/service/store-instances.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { expectWithin } from '../support/stopwatch.js';
import { bearer } from '../support/tokens/issued-token.js';
import { TokenCommands } from '../support/tokens/token-commands.js';
import { until } from '../support/until.js';

const POOLED = { pgbouncer: 'true' };
/** Fewer sessions than the service has connections: it has to share them. */
const FEW_SESSIONS = { default_pool_size: '4' };
const CLIENTS = 16;
const ENOUGH = 1000;
const PROMISED_MS = 2000;

/** The settings that the documentation has, word for word, but for addresses and users. */
async function documentedSettings(): Promise<Record<string, string>> {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, section = ''] = /^\[pgbouncer\]\n(.*?)^```/ms.exec(text) ?? [];
  const settings = [...section.matchAll(/^(\w+) = (.*)$/gm)].map(([, name = '', value = '']) => [name, value]);
  return Object.fromEntries(settings.filter(([name = '']) => !/^(?:listen|auth)_/.test(name))) as Record<
    string,
    string
  >;
}

/** A database whose role does not wait for the disk by default. */
async function createCarelessDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query(`
    DO $$ BEGIN
      EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET synchronous_commit TO off', current_database());
    END $$`);
  return database;
}

/** The service on a database, through the pooler; what a test looks into the database with goes past it. */
async function startBehind(
  pooler: PgBouncer,
  database: TestDatabase,
  variables?: Record<string, string>,
): Promise<Store> {
  return startStoreOn({ ...database, url: pooler.urlOf(database.url, POOLED) }, variables);
}

describeWithPgBouncer('Behind PgBouncer in transaction mode', () => {
  let pooler: PgBouncer;

  beforeAll(async () => {
    const database = await createTestDatabase({ migrated: false });
    pooler = await PgBouncer.start(database.url, { ...(await documentedSettings()), ...FEW_SESSIONS });
    await database.drop();
  });
  afterAll(() => pooler[Symbol.asyncDispose]());

  describe('the service', () => {
    describeContract(
      runningTarget(async () => {
        const database = await createCarelessDatabase();
        const store = await startBehind(pooler, database);
        return {
          ...store,
          database,
          stop: async () => {
            await store.stop();
            await database.drop();
          },
        };
      }),
    );
  });

  describe('two instances of the service', () => {
    let database: TestDatabase;
    let stores: readonly Store[];
    let commands: TokenCommands;

    beforeAll(async () => {
      database = await createCarelessDatabase();
      stores = [await startBehind(pooler, database), await startBehind(pooler, database)];
      commands = new TokenCommands({ ...database, url: pooler.urlOf(database.url, POOLED) });
    });
    afterAll(async () => {
      await Promise.all(stores.map((store) => store.stop()));
      await database.drop();
    });

    const verdicts = (token: string): Promise<number[]> =>
      Promise.all(stores.map(async (store) => errorOf(await store.post(NO_PLANT, bearer(token)))));

    it('should create plants under load, in sessions that keep no statement', async () => {
      await database.query(`
        CREATE TABLE told (synchronous text, prepared bigint);
        CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO public.told
            SELECT current_setting('synchronous_commit'), count(*) FROM pg_prepared_statements WHERE name <> '';
          RETURN NULL;
        END $$;
        CREATE TRIGGER tell AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION tell()`);
      const [one, other] = stores;
      const clients = CreatingClients.start(one?.port ?? 0, CLIENTS);
      // The ids are the same: each plant is created once, by either of the two.
      const rivals = CreatingClients.start(other?.port ?? 0, CLIENTS);
      await until(() => clients.created.length + rivals.created.length >= ENOUGH);
      await Promise.all([clients.stop(), rivals.stop()]);

      const created = [...clients.created, ...rivals.created];
      expect(new Set(created).size).toBe(created.length);
      const refusals = [...clients.refusals, ...rivals.refusals].map((response) => errorOf(response));
      expect(new Set(refusals)).toEqual(new Set([40901]));
      const rows = await database.query<{ id: string }>('SELECT id FROM plants');
      expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(created.sort((a, b) => a - b));
      expect(await database.query('SELECT DISTINCT prepared FROM told')).toEqual([{ prepared: '0' }]);
    });

    it('should wait for the disk in each of these creates', async () => {
      expect(await database.query('SELECT DISTINCT synchronous FROM told')).toEqual([{ synchronous: 'on' }]);
    });

    it('should accept a token as soon as it is made, and refuse it within 2 s after it was revoked', async () => {
      const { token } = await commands.make('create', 'gardener');
      expect(await verdicts(token)).toEqual([40003, 40003]);
      await until(async () => (await commands.only('gardener')).lastUsedAt !== null);

      expect(await commands.run('revoke', 'gardener')).toMatchObject({ code: 0 });
      await expectWithin(PROMISED_MS, async () => (await verdicts(token)).every((verdict) => verdict === 40101));
    });

    it('should have one token of a name, though all commands share sessions', async () => {
      const creates = Array.from({ length: 8 }, () => commands.run('create', 'one'));
      const outcomes = await Promise.all(creates);
      expect(outcomes.filter(({ code }) => code === 0)).toHaveLength(1);
      expect(await commands.states('one')).toEqual(['valid']);
      await Promise.all([commands.run('rotate', 'one'), commands.run('rotate', 'one')]);
      expect(await commands.states('one')).toEqual(['valid', 'valid', 'valid']);
      expect(await commands.run('revoke', 'one')).toMatchObject({ code: 0 });
      expect(await commands.states('one')).toEqual(['revoked', 'revoked', 'revoked']);
    });

    it('should not take a change of tokens for undone if the pooler loses the session in the commit', async () => {
      await commands.issue('lost');
      // A deferred trigger runs in the midst of the commit.
      await database.query(`
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          LOCK TABLE plants;
          RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON access_tokens DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION wait()`);
      await using lock = await TableLock.take(database);
      const revoked = commands.run('revoke', 'lost');
      await lock.awaited();
      await lock.terminateWaiting();
      expect(await revoked).toMatchObject({ code: 1, stderr: expect.stringContaining('outcome unknown') });
    });
  });

  it('should work in a schema of its own', async () => {
    const database = await createTestDatabase({ migrated: false });
    expect(await outcomeOfCommandLine('migrate --schema garden', { DATABASE_URL: database.url })).toMatchObject({
      code: 0,
    });
    const DATABASE_URL = pooler.urlOf(database.url, { ...POOLED, schema: 'garden' });
    const made = await outcomeOfCommandLine('token create  gardener', { DATABASE_URL });
    const store = await startStoreOn({ ...database, url: DATABASE_URL });
    expect(await store.post('{"id":1,"name":"Rose"}', bearer(made.stdout.trim()))).toMatchObject({ status: 200 });
    await store.stop();
    expect(await database.query('SELECT id, created_by FROM garden.plants')).toEqual([
      { id: '1', created_by: 'gardener' },
    ]);
    await database.drop();
  });

  it('should migrate, many times and from many places', async () => {
    const database = await createTestDatabase({ migrated: false });
    const DATABASE_URL = pooler.urlOf(database.url, POOLED);
    const runs = [1, 2, 3].map(() => outcomeOfCommandLine('migrate', { DATABASE_URL }));
    for (const { code, stderr } of await Promise.all(runs)) expect([code, stderr]).toEqual([0, '']);
    expect(await database.query('SELECT id FROM plants')).toEqual([]);
    await database.drop();
  });
});
