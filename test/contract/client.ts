import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type CreateOptions, type NewPlant, PlantStoreClient, PlantStoreError } from '../../src/client/index.js';
import type { ErrorStatus } from '../../src/errors/error-catalogue.js';
import { ImpatientClient } from '../support/http/impatient-client.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { rejectionOf } from '../support/rejection.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const EDGES = [MIN, MIN + 1n, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n - 1n, 2n ** 53n + 1n, MAX - 1n, MAX];
const ROSE = { id: 1n, name: 'Rose' };

/** The client, with a store of this ERROR_STATUS. */
export function describeClient(errorStatus: ErrorStatus): void {
  describe(`the client of a store with ERROR_STATUS=${errorStatus}`, () => {
    let store: Store;
    let baseUrl: string;
    let client: ImpatientClient;

    beforeAll(async () => {
      store = await startStore({ ERROR_STATUS: errorStatus, BASE_PATH: '/api/v1' });
      baseUrl = `http://127.0.0.1:${store.port}/api/v1`;
      // A tag that is an SQLSTATE is rejected with it; after "once" only the first time.
      await store.database.query(`
      CREATE SEQUENCE rejections;
      CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.tag LIKE 'once %' AND nextval('rejections') > 1 THEN RETURN NEW; END IF;
        RAISE EXCEPTION USING ERRCODE = right(NEW.tag, 5);
      END $$;
      CREATE TRIGGER reject BEFORE INSERT ON plants FOR EACH ROW
        WHEN (NEW.tag SIMILAR TO '(once )?[0-9A-Z]{5}') EXECUTE FUNCTION reject()`);
    });
    afterAll(() => store.stop());
    beforeEach(async () => {
      client = new ImpatientClient({ baseUrl, token: TOKEN });
      await store.database.query('TRUNCATE plants');
    });

    const stored = (): Promise<{ id: string; name: string; tag: string | null; idempotency_key: string }[]> =>
      store.database.query('SELECT id, name, tag, idempotency_key FROM plants ORDER BY id');

    /** How the store refuses a plant, which has to be the error of this number. */
    async function refusal(error: number, plant: NewPlant, options?: CreateOptions): Promise<PlantStoreError> {
      const failure = await rejectionOf(client.create(plant, options));
      expect(failure).toBeInstanceOf(PlantStoreError);
      const status = errorStatus === 'contract' ? 400 : Math.trunc(error / 100);
      expect(failure).toMatchObject({ name: 'PlantStoreError', error, status });
      return failure as PlantStoreError;
    }

    it('should store every int64 exactly', async () => {
      const random = fc.sample(fc.bigInt({ min: MIN, max: MAX }), 50);
      const ids = [...new Set([...EDGES, ...random])].sort((one, other) => (one < other ? -1 : 1));
      for (const id of ids) expect(await client.create({ id, name: 'Rose' })).toEqual({ name: 'Rose' });
      expect((await stored()).map(({ id }) => BigInt(id))).toEqual(ids);
    });

    it('should take an id as a bigint only', async () => {
      // @ts-expect-error -- types are for callers in TypeScript; a number that is exact is stored all the same.
      expect(await client.create({ id: Number.MAX_SAFE_INTEGER, name: 'Rose' })).toEqual({ name: 'Rose' });
      // @ts-expect-error -- a number that may have been rounded is refused.
      await expect(client.create({ id: 2 ** 53, name: 'Rose' })).rejects.toThrow(TypeError);
      expect(await stored()).toMatchObject([{ id: '9007199254740991' }]);
    });

    it.each(['flower', '', '"\\ \u2028 🌹', undefined])('should store and give back the tag %j', async (tag) => {
      const plant = { name: 'Rose "Ophélie"', ...(tag !== undefined && { tag }) };
      expect(await client.create({ id: 1n, ...plant })).toEqual(plant);
      expect(await stored()).toMatchObject([{ ...plant, tag: tag ?? null }]);
    });

    it('should give each create a key of its own, and take one of the caller', async () => {
      await Promise.all([client.create({ id: 1n, name: 'Rose' }), client.create({ id: 2n, name: 'Rose' })]);
      await client.create({ id: 3n, name: 'Rose' }, { idempotencyKey: 'my key' });
      const [one, two, three] = (await stored()).map(({ idempotency_key }) => idempotency_key);
      expect(one).toMatch(/^[0-9a-f]{32}$/);
      expect(two).toMatch(/^[0-9a-f]{32}$/);
      expect(one).not.toBe(two);
      expect(three).toBe('my key');
    });

    it('should say that an id is taken, and that a key was used for another plant', async () => {
      const idempotencyKey = 'a-key';
      await client.create(ROSE, { idempotencyKey });
      expect(await client.create(ROSE, { idempotencyKey })).toEqual({ name: 'Rose' });
      expect(await refusal(40901, ROSE)).toMatchObject({
        message: expect.stringContaining('The id 1 is taken'),
        retryable: false,
        retryAfter: undefined,
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      const reused = await refusal(40902, { ...ROSE, name: 'Fern' }, { idempotencyKey });
      expect(reused).toMatchObject({ retryable: false, idempotencyKey });
      expect(client.pauses).toEqual([]);
    });

    it('should say that a token or a field is wrong', async () => {
      const wrong = await refusal(40003, { id: MAX + 1n, name: 'a\u0000', tag: '\ud800' });
      expect(wrong.message).toMatch(/id is the number 9223372036854775808.*name .*tag /);
      // @ts-expect-error -- the store says it to callers in JavaScript.
      expect((await refusal(40003, { id: 1n })).message).toMatch('name is missing');
      client = new ImpatientClient({ baseUrl, token: () => 'another-token-of-the-tests' });
      expect(await refusal(40101, ROSE)).toMatchObject({ retryable: false });
      expect(client.pauses).toEqual([]);
    });

    it.each([
      [50300, '53100', 1],
      [50400, '57014', undefined],
      [50000, 'XX000', undefined],
    ])('should repeat %d, and give up in the end', async (error, tag, retryAfter) => {
      const failure = await refusal(error, { ...ROSE, tag });
      expect(failure).toMatchObject({ retryable: true, retryAfter, requestId: expect.stringMatching(/\S/) });
      expect(client.pauses).toHaveLength(3);
      expect(Math.min(...client.pauses)).toBeGreaterThanOrEqual(1000 * (retryAfter ?? 0));
      expect(await stored()).toEqual([]);
    });

    it('should create the plant if the store had trouble only at first', async () => {
      await store.database.query('ALTER SEQUENCE rejections RESTART');
      expect(await client.create({ ...ROSE, tag: 'once 53100' })).toEqual({ name: 'Rose', tag: 'once 53100' });
      expect(client.pauses).toHaveLength(1);
      expect(await stored()).toMatchObject([{ id: '1' }]);
    });

    it('should create the plant exactly once if the first answer is lost', async () => {
      const proxy = await TcpProxy.start(baseUrl);
      client = new ImpatientClient({ baseUrl: proxy.url, token: TOKEN });
      proxy.loseAnswerTo('POST /api/v1/plants');
      expect(await client.create(ROSE)).toEqual({ name: 'Rose' });
      await proxy.close();
      expect(client.pauses).toHaveLength(1);
      expect(await stored()).toMatchObject([{ id: '1', name: 'Rose' }]);
    });

    it('should not repeat a create if it may not, and let its key be used for that', async () => {
      const proxy = await TcpProxy.start(baseUrl);
      const once = new PlantStoreClient({ baseUrl: proxy.url, token: TOKEN, retries: 0 });
      proxy.loseAnswerTo('POST /api/v1/plants');
      const failure = (await rejectionOf(once.create(ROSE))) as { idempotencyKey: string };
      expect(await stored()).toMatchObject([{ idempotency_key: failure.idempotencyKey }]);
      expect(await once.create(ROSE, failure)).toEqual({ name: 'Rose' });
      await proxy.close();
    });
  });
}
