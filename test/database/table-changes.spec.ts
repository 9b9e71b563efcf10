import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { createTogether } from '../support/http/request.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStore, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';

const IDS = Array.from({ length: 20 }, (_, index) => index + 1);
const plant = (id: number, name = 'Rose', tag?: string): string => JSON.stringify({ id, name, tag });
const keyed = (key: number | string): Record<string, string> => ({ 'Idempotency-Key': `key ${key}` });
const statusOf = (answer: RawResponse | undefined): number | undefined => answer?.status;
const refused = (answer: RawResponse | undefined, error: number): string => expectRefusal(answer, error, 'contract');

describe('A store whose tables a DBA changes while it runs', () => {
  let store: Store;

  beforeAll(async () => {
    store = await startStore({ DATABASE_POOL_SIZE: '3' });
  });
  afterAll(() => store.stop());
  beforeEach(() => store.database.query('TRUNCATE plants'));

  const createAll = async (): Promise<(number | undefined)[]> => {
    const creates = IDS.map((id) => ({ body: plant(id, `Rose ${id}`, 'tag'), headers: keyed(id) }));
    return (await createTogether(store.port, creates)).map(statusOf);
  };

  it('should go on with what its connections have prepared', async () => {
    // Twice, so that the look-up is known too.
    for (const round of [1, 2]) expect([round, await createAll()]).toEqual([round, IDS.map(() => 200)]);
    for (const change of [
      'ALTER TABLE plants ALTER COLUMN name TYPE varchar(1000)',
      'ALTER TABLE plants ALTER COLUMN idempotency_key TYPE varchar(255), ALTER COLUMN created_by TYPE varchar(255)',
      'ALTER TABLE plants ALTER COLUMN id TYPE numeric(30, 2), ALTER COLUMN write_id TYPE numeric(30, 2)',
      'ALTER TABLE plants ALTER COLUMN id TYPE int',
      'REINDEX TABLE CONCURRENTLY plants',
    ]) {
      await store.database.query(change);
      expect([change, await createAll()]).toEqual([change, IDS.map(() => 200)]);
    }
    refused(await store.post(plant(1)), 40901);
    refused(await store.post(plant(1, 'Tulip'), keyed(1)), 40902);
    expect(await store.database.query('SELECT FROM plants')).toHaveLength(IDS.length);
    // Too long by now, and it alone.
    const names = ['Rose', 'R'.repeat(1001), 'R'.repeat(1000)];
    const creates = names.map((name, index) => ({ body: plant(100 + index, name) }));
    const answers = await createTogether(store.port, creates);
    expect(answers.map(statusOf)).toEqual([200, 400, 200]);
    expect(refused(answers[1], 50000)).not.toMatch(/varchar|character/);
  });

  it('should go on to look tokens up', async () => {
    const { database } = store;
    const token = await issueToken(database);
    expect(statusOf(await store.post(plant(1), token.headers))).toBe(200);
    const types = [
      'name TYPE varchar(255)',
      'scopes TYPE varchar(64)[]',
      'id TYPE numeric',
      'expires_at TYPE timestamp',
    ];
    for (const [index, type] of types.entries()) {
      await database.query(`ALTER TABLE access_tokens ALTER COLUMN ${type}`);
      // One that is not known is looked up.
      const other = await issueToken(database, { name: `gardener ${index}` });
      for (const { headers } of [token, other])
        expect([type, statusOf(await store.post(plant(10 + index), { ...headers, ...keyed(1) }))]).toEqual([type, 200]);
    }
  });

  it('should refuse with 50000 what a trigger leaves out, and nothing else, and the log say why', async () => {
    await store.database.query(`CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.tag = 'skip' THEN RETURN NULL; END IF; RETURN NEW; END $$;
      CREATE TRIGGER skip BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION skip()`);
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const skipped = { body: plant(2, 'Rose', 'skip') };
    const answers = await createTogether(store.port, [{ body: plant(1) }, skipped, { body: plant(1) }]);
    expect(statusOf(answers[0])).toBe(200);
    refused(answers[1], 50000);
    refused(answers[2], 40901);
    refused(await store.post(skipped.body, keyed(1)), 50000);
    const why = expect.stringMatching(/a trigger or a rule of the table plants leaves it out/);
    expect(error.mock.calls.map((call) => String(call.at(-1)))).toEqual([why, why]);
    jest.restoreAllMocks();
  });
});
