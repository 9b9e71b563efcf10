import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTogether } from '../support/http/request.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { startStore, type Store } from '../support/service/store.js';

const ids = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const plant = (id: number | string, name = 'Rose', tag?: string): string =>
  `{"id":${id},"name":"${name}"${tag === undefined ? '' : `,"tag":"${tag}"`}}`;
const keyed = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });

describe('Creates that come together', () => {
  let store: Store;

  beforeEach(async () => {
    store = await startStore();
  });
  afterEach(() => store.stop());

  const refused = (response: RawResponse | undefined, error: number): string =>
    expectRefusal(response, error, 'contract');
  const stored = (): Promise<{ id: string; name: string; tag: string | null }[]> =>
    store.database.query('SELECT id, name, tag FROM plants ORDER BY id');
  /** Rows that one transaction has inserted have one xmin. */
  const commits = async (): Promise<number> =>
    Number(
      (await store.database.query<{ commits: string }>('SELECT count(DISTINCT xmin::text) AS commits FROM plants'))[0]
        ?.commits,
    );

  it('should share one statement and one commit, each with its own answer', async () => {
    const responses = await createTogether(
      store.port,
      ids(1, 50).map((id) => ({ body: plant(id, `Rose ${id}`) })),
    );

    expect(responses.map((response) => [response?.status, response?.body])).toEqual(
      ids(1, 50).map((id) => [200, `{"name":"Rose ${id}"}`]),
    );
    expect(await commits()).toBe(1);
    expect(store.statistics).toMatchObject({ created: 50, statementPlants: { count: 1 }, inFlight: 0 });
    expect(store.waiting()).toBe(0);
  });

  it('should be stored exactly as sent, with any content', async () => {
    const odd = [
      '',
      ' ',
      'NULL',
      '{}',
      '{a,b}',
      '\\"',
      '\\\\',
      "'; DROP TABLE plants; --",
      '\\u00e9\\u0301',
      '\\ud83c\\udf39',
      '\\n\\r\\t',
      '$1',
    ];
    const rows = odd.flatMap((text, index) => [plant(index, text), plant(-1 - index, 'Rose', text)]);
    const far = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '9007199254740992'];
    const bodies = [...rows, ...far.map((id) => plant(id))];
    const responses = await createTogether(
      store.port,
      bodies.map((body) => ({ body })),
    );

    expect(responses.map((response) => response?.status)).toEqual(bodies.map(() => 200));
    expect(await commits()).toBe(1);
    const found = new Map((await stored()).map((row) => [row.id, row]));
    expect([...found.keys()]).toEqual(expect.arrayContaining(far));
    for (const [index, text] of odd.entries()) {
      const value = JSON.parse(`"${text}"`) as string;
      expect(found.get(String(index))).toMatchObject({ name: value, tag: null });
      expect(found.get(String(-1 - index))).toMatchObject({ name: 'Rose', tag: value });
    }
  });

  it('should give an id to the first of several, and 40901 to the others', async () => {
    const names = ['first', 'second', 'third'];
    const responses = await createTogether(store.port, [
      ...names.map((name) => ({ body: plant(7, name) })),
      { body: plant(8) },
    ]);

    expect(responses[0]).toMatchObject({ status: 200, body: '{"name":"first"}' });
    refused(responses[1], 40901);
    refused(responses[2], 40901);
    expect(responses[3]).toMatchObject({ status: 200 });
    expect(await stored()).toEqual([
      { id: '7', name: 'first', tag: null },
      { id: '8', name: 'Rose', tag: null },
    ]);
    expect(await commits()).toBe(1);
  });

  it('should recognise the repetitions of a create by its key, and by nothing else', async () => {
    const [first, replay, renamed, retagged, otherKey, noKey, elsewhere] = await createTogether(store.port, [
      { body: plant(7, 'Rose', 'red'), headers: keyed('a') },
      { body: plant(7, 'Rose', 'red'), headers: keyed('a') },
      { body: plant(7, 'Lily', 'red'), headers: keyed('a') },
      { body: plant(7, 'Rose'), headers: keyed('a') },
      { body: plant(7, 'Rose', 'red'), headers: keyed('b') },
      { body: plant(7, 'Rose', 'red') },
      { body: plant(8, 'Rose', 'red'), headers: keyed('a') },
    ]);

    for (const response of [first, replay, elsewhere]) {
      expect(response).toMatchObject({ status: 200, body: '{"name":"Rose","tag":"red"}' });
    }
    refused(renamed, 40902);
    refused(retagged, 40902);
    refused(otherKey, 40901);
    refused(noKey, 40901);
    expect(await stored()).toHaveLength(2);
  });

  it('should recognise repetitions among new plants, in one look-up', async () => {
    const creates = ids(1, 20).map((id) => ({ body: plant(id), headers: keyed(`key ${id}`) }));
    await createTogether(store.port, creates);
    const before = store.statistics.statementPlants.count;
    const responses = await createTogether(store.port, [...creates, ...ids(21, 20).map((id) => ({ body: plant(id) }))]);

    expect(responses.map((response) => response?.status)).toEqual(ids(1, 40).map(() => 200));
    expect(store.statistics).toMatchObject({ created: 40, statementPlants: { count: before + 1 } });
    expect(await stored()).toHaveLength(40);
  });

  it('should each be answered once, on many connections that create the same plants', async () => {
    const clients = 16;
    const rounds = ids(1, 25);
    const answers = await Promise.all(
      ids(1, clients).map((client) =>
        createTogether(
          store.port,
          rounds.map((id) => ({ body: plant(id, `of ${client}`) })),
        ),
      ),
    );
    for (const [index, id] of rounds.entries()) {
      const created = answers.map((responses) => responses[index]).filter((response) => response?.status === 200);
      expect(created).toHaveLength(1);
      expect((await stored()).find((row) => row.id === String(id))).toMatchObject(
        JSON.parse(created[0]?.body ?? '') as object,
      );
    }
    expect(store.statistics.created).toBe(rounds.length);
  });

  it('should be stored though they are larger together than one statement may be', async () => {
    const name = 'x'.repeat(400_000);
    const responses = await Promise.all(ids(1, 8).map((id) => store.post(plant(id, name))));
    expect(responses.map(({ status }) => status)).toEqual(ids(1, 8).map(() => 200));
    expect((await stored()).filter((row) => row.name === name)).toHaveLength(8);
  });
});
