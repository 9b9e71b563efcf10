import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTogether } from '../support/http/request.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { startStore, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';

const ids = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const plant = (id: number | string, name = 'Rose', tag?: string): string =>
  `{"id":${id},"name":"${name}"${tag === undefined ? '' : `,"tag":"${tag}"`}}`;
const keyed = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });
/** 200, or the number of the error. */
const outcomeOf = (response: RawResponse | undefined): number | undefined =>
  response?.status === 200 ? 200 : (JSON.parse(response?.body ?? '{}') as { error?: number }).error;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

describe('Creates that come together', () => {
  let store: Store;

  beforeAll(async () => {
    // The longest time limit, of which no timer may make a short one.
    store = await startStore({ STORAGE_TIMEOUT: '86400000' });
  });
  afterEach(() => store.database.query('TRUNCATE plants'));
  afterAll(() => store.stop());

  const stored = (): Promise<Row[]> => store.database.query('SELECT id, name, tag FROM plants ORDER BY id');
  /** Rows that one transaction has inserted have one xmin. */
  const commits = async (): Promise<number> =>
    (await store.database.query('SELECT DISTINCT xmin::text FROM plants')).length;

  it('should share one commit, each stored exactly as sent and with its own answer', async () => {
    const before = store.statistics.statementPlants.count;
    const odd = ['', 'NULL', '{a,b}', '\\"', '\\\\', "'; --", '\\u00e9\\u0301', '\\ud83c\\udf39', '\\n\\t', '$1'];
    const far = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '9007199254740992'];
    const bodies = [
      ...odd.flatMap((text, index) => [plant(index, text), plant(-1 - index, 'Rose', text)]),
      ...far.map((id) => plant(id, `of ${id}`)),
    ];
    const responses = await createTogether(
      store.port,
      bodies.map((body) => ({ body })),
    );

    const answers = bodies.map((body) => JSON.stringify({ ...(JSON.parse(body) as Row), id: undefined }));
    expect(responses.map((response) => response?.body)).toEqual(answers);
    expect(await commits()).toBe(1);
    expect(store.statistics).toMatchObject({ statementPlants: { count: before + 1 }, inFlight: 0 });
    const sent = bodies.map((body) => ({
      tag: null,
      ...(JSON.parse(body) as Partial<Row>),
      id: /-?\d+/.exec(body)?.[0],
    }));
    expect(await stored()).toEqual(sent.sort((one, other) => Number(BigInt(one.id ?? 0) - BigInt(other.id ?? 0))));
  });

  it('should give an id to the first of several, and recognise a repetition by its key and by nothing else', async () => {
    const responses = await createTogether(store.port, [
      { body: plant(7, 'Rose', 'red'), headers: keyed('a') },
      { body: plant(7, 'Rose', 'red'), headers: keyed('a') },
      { body: plant(7, 'Lily', 'red'), headers: keyed('a') },
      { body: plant(7, 'Rose'), headers: keyed('a') },
      { body: plant(7, 'Rose', 'red'), headers: keyed('b') },
      { body: plant(7, 'Rose', 'red') },
      { body: plant(8, 'Rose', 'red'), headers: keyed('a') },
    ]);

    expect(responses.map(outcomeOf)).toEqual([200, 200, 40902, 40902, 40901, 40901, 200]);
    expect(await stored()).toEqual(['7', '8'].map((id) => ({ id, name: 'Rose', tag: 'red' })));
    expect(await commits()).toBe(1);
  });

  it('should be stored though they are larger together than one statement may be', async () => {
    const name = 'x'.repeat(400_000);
    const responses = await Promise.all(ids(1, 8).map((id) => store.post(plant(id, name))));
    expect(responses.map(outcomeOf)).toEqual(ids(1, 8).map(() => 200));
    expect((await stored()).filter((row) => row.name === name)).toHaveLength(8);
  });

  it('should each be stored with the name of the token that created it', async () => {
    const tokens = await Promise.all(['greenhouse', 'garden'].map((name) => issueToken(store.database, { name })));
    const credentials = [...tokens.map(({ headers }) => headers), {}];
    await createTogether(
      store.port,
      credentials.map((headers, id) => ({ body: plant(id), headers })),
    );
    const creators = await store.database.query('SELECT created_by FROM plants ORDER BY id');
    expect(creators).toEqual(['greenhouse', 'garden', 'static'].map((name) => ({ created_by: name })));
  });
});
