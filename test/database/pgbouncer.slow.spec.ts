import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { describeContract } from '../contract/describe-contract.js';
import { runningTarget } from '../contract/contract-target.js';
import { describeWithPgBouncer, PgBouncer } from '../support/database/pgbouncer.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { CreatingClients } from '../support/http/creating-clients.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { errorOf, NO_PLANT } from '../support/service/store-instances.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { expectWithin } from '../support/stopwatch.js';
import { bearer } from '../support/tokens/issued-token.js';
import { TokenCommands } from '../support/tokens/token-commands.js';
import { until } from '../support/until.js';

/** Fewer sessions than the service has connections: it has to share them. */
const FEW_SESSIONS = { default_pool_size: '4' };
const CLIENTS = 16;
const ENOUGH = 1000;
const PROMISED_MS = 2000;

/** The settings that the documentation has, word for word, but for addresses and users. */
async function documentedSettings(): Promise<Record<string, string>> {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, section = ''] = /^\[pgbouncer\]\n(.*?)^```/ms.exec(text) ?? [];
  const settings = Array.from(section.matchAll(/^(\w+) = (.*)$/gm), ([, name = '', value = '']) => [name, value]);
  return Object.fromEntries(settings.filter(([name = '']) => !/^(?:listen|auth)_/.test(name))) as typeof FEW_SESSIONS;
}

describeWithPgBouncer('Behind PgBouncer in transaction mode', () => {
  let pooler: PgBouncer;

  beforeAll(async () => {
    const database = await createTestDatabase({ migrated: false });
    pooler = await PgBouncer.start(database.url, { ...(await documentedSettings()), ...FEW_SESSIONS });
    await database.drop();
  });
  afterAll(() => pooler[Symbol.asyncDispose]());

  /** A database whose sessions do not wait for the disk by default; what a test looks into it with goes past the pooler. */
  async function createCarelessDatabase(): Promise<TestDatabase> {
    const database = await createTestDatabase();
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE "${name}" SET synchronous_commit TO off`);
    return database;
  }
  const urlOf = ({ url }: TestDatabase): string => pooler.urlOf(url, { pgbouncer: 'true' });
  const startBehind = (database: TestDatabase): Promise<Store> => startStoreOn({ ...database, url: urlOf(database) });

  describe('the service', () => {
    describeContract(
      runningTarget(async () => {
        const database = await createCarelessDatabase();
        const store = await startBehind(database);
        return { ...store, database, stop: () => store.stop().then(() => database.drop()) };
      }),
    );
  });

  describe('two instances of the service', () => {
    let database: TestDatabase;
    let stores: readonly Store[];

    beforeAll(async () => {
      database = await createCarelessDatabase();
      stores = [await startBehind(database), await startBehind(database)];
    });
    afterAll(async () => {
      await Promise.all(stores.map((store) => store.stop()));
      await database.drop();
    });

    it('should create plants that are on the disk, under load, in sessions that keep no statement', async () => {
      await database.query(`
        CREATE TABLE told (synchronous text, prepared bigint);
        CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO public.told
            SELECT current_setting('synchronous_commit'), count(*) FROM pg_prepared_statements WHERE name <> '';
          RETURN NULL;
        END $$;
        CREATE TRIGGER tell AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION tell()`);
      // The ids are the same: each plant is created once, by either of the two.
      const rivals = stores.map(({ port }) => CreatingClients.start(port, CLIENTS));
      await until(() => rivals.flatMap(({ created }) => created).length >= ENOUGH);
      await Promise.all(rivals.map((clients) => clients.stop()));

      const created = rivals.flatMap((clients) => clients.created);
      expect(new Set(created).size).toBe(created.length);
      expect(new Set(rivals.flatMap(({ refusals }) => refusals.map(errorOf)))).toEqual(new Set([40901]));
      const rows = await database.query<{ id: string }>('SELECT id FROM plants');
      expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(created.sort((a, b) => a - b));
      expect(await database.query('SELECT DISTINCT * FROM told')).toEqual([{ synchronous: 'on', prepared: '0' }]);
    });

    it('should accept a token as soon as it is made, and refuse it within 2 s after it was revoked', async () => {
      const commands = new TokenCommands({ ...database, url: urlOf(database) });
      const { token } = await commands.make('create', 'gardener');
      const verdicts = (): Promise<number[]> =>
        Promise.all(stores.map(async (store) => errorOf(await store.post(NO_PLANT, bearer(token)))));
      expect(await verdicts()).toEqual([40003, 40003]);
      await until(async () => (await commands.only('gardener')).lastUsedAt !== null);
      expect(await commands.run('revoke', 'gardener')).toMatchObject({ code: 0 });
      await expectWithin(PROMISED_MS, async () => (await verdicts()).every((verdict) => verdict === 40101));
    });
  });

  it('should migrate, from many places at once, and into a schema', async () => {
    const database = await createTestDatabase({ migrated: false });
    const runs = ['', '', '', '--schema garden'].map((options) =>
      outcomeOfCommandLine(`migrate ${options}`, { DATABASE_URL: urlOf(database) }),
    );
    for (const { code, stderr } of await Promise.all(runs)) expect([code, stderr]).toEqual([0, '']);
    expect(await database.query('SELECT id FROM plants UNION SELECT id FROM garden.plants')).toEqual([]);
    await database.drop();
  });
});
