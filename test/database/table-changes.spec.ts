import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { createTogether } from '../support/http/request.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';

const IDS = Array.from({ length: 20 }, (_, index) => index + 1);
const plant = (id: number, name = 'Rose', tag?: string): string => JSON.stringify({ id, name, tag });
const keyed = (key: number | string): Record<string, string> => ({ 'Idempotency-Key': `key ${key}` });

let database: TestDatabase;
let store: Store | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await store?.stop();
  store = undefined;
  await database.drop();
});

async function start(): Promise<Store> {
  return (store = await startStoreOn(database, { DATABASE_POOL_SIZE: '3' }));
}

const statusOf = (answer: RawResponse | undefined): number | undefined => answer?.status;
const refused = (answer: RawResponse | undefined, error: number): string => expectRefusal(answer, error, 'contract');

describe('Columns whose types a DBA changes', () => {
  const createAll = async ({ port }: Store): Promise<(number | undefined)[]> => {
    const creates = IDS.map((id) => ({ body: plant(id, `Rose ${id}`, 'tag'), headers: keyed(id) }));
    return (await createTogether(port, creates)).map(statusOf);
  };

  it.each([
    ['texts', ['name TYPE varchar(1000)', 'tag TYPE varchar(99)', 'idempotency_key TYPE varchar(255)']],
    ['the creator', ['created_by TYPE varchar(255)']],
    ['numbers with places', ['id TYPE numeric(30, 2)', 'write_id TYPE numeric(30, 2)']],
    ['a smaller id', ['id TYPE int']],
  ])('should not disturb what live connections know: %s', async (_, changes) => {
    const running = await start();
    // Twice, so that the look-up is known too.
    for (const round of [1, 2]) expect([round, await createAll(running)]).toEqual([round, IDS.map(() => 200)]);
    for (const change of changes) {
      await database.query(`ALTER TABLE plants ALTER COLUMN ${change}`);
      expect([change, await createAll(running)]).toEqual([change, IDS.map(() => 200)]);
    }
    expect(statusOf(await running.post(plant(100), keyed(100)))).toBe(200);
    refused(await running.post(plant(100)), 40901);
    refused(await running.post(plant(100, 'Tulip'), keyed(100)), 40902);
    expect(running.statistics.created).toBe(IDS.length + 1);
  });

  it('should refuse a plant that is too long by now, and it alone', async () => {
    const running = await start();
    await database.query('ALTER TABLE plants ALTER COLUMN name TYPE varchar(1000)');
    const names = ['Rose', 'R'.repeat(1001), 'R'.repeat(1000)];
    const answers = await createTogether(
      running.port,
      names.map((name, index) => ({ body: plant(index, name) })),
    );
    expect(answers.map(statusOf)).toEqual([200, 400, 200]);
    expect(refused(answers[1], 50000)).not.toMatch(/varchar|character/);
  });

  it('should not disturb the look-up of tokens', async () => {
    const token = await issueToken(database);
    const running = await start();
    expect(statusOf(await running.post(plant(1), token.headers))).toBe(200);
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
        expect([type, statusOf(await running.post(plant(10 + index), { ...headers, ...keyed(1) }))]).toEqual([
          type,
          200,
        ]);
    }
  });
});

describe('A trigger that leaves plants out', () => {
  const SKIP = `CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.tag = 'skip' THEN RETURN NULL; END IF; RETURN NEW; END $$`;
  const TRIGGER = 'CREATE TRIGGER skip BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION skip()';

  beforeEach(async () => {
    await database.query(SKIP);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('should be refused with 50000, and the log say why: no id is said to be taken that is free', async () => {
    await database.query(TRIGGER);
    const running = await start();
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    refused(await running.post(plant(1, 'Rose', 'skip')), 50000);
    refused(await running.post(plant(1, 'Rose', 'skip'), keyed(1)), 50000);
    const logged = error.mock.calls.map((call) => String(call.at(-1)));
    expect(logged).toEqual(
      [1, 2].map(() => expect.stringMatching(/a trigger or a rule of the table plants leaves it out/)),
    );
  });

  it('should concern its plants alone, and no id that is taken', async () => {
    await database.query(TRIGGER);
    const running = await start();
    const [own, skipped, same] = await createTogether(running.port, [
      { body: plant(1) },
      { body: plant(2, 'Rose', 'skip') },
      { body: plant(1) },
    ]);
    expect(statusOf(own)).toBe(200);
    refused(skipped, 50000);
    refused(same, 40901);
    for (const time of [1, 2]) expect([time, statusOf(await running.post(plant(3), keyed(3)))]).toEqual([time, 200]);
    refused(await running.post(plant(3, 'Tulip'), keyed(3)), 40902);
  });
});

it('A rule that leaves plants out makes PostgreSQL refuse them, and the log has why', async () => {
  const running = await start();
  await database.query('CREATE RULE skip AS ON INSERT TO plants DO INSTEAD NOTHING');
  const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  refused(await running.post(plant(1)), 50000);
  refused(await running.post(plant(1), keyed(1)), 50000);
  expect(String(error.mock.calls[0]?.at(-1))).toMatch(/INSERT RETURNING on relation[^]*INSTEAD rule/);
  jest.restoreAllMocks();
});
