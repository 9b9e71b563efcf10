import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createPlant, RefusedError } from '../../examples/client.js';
import { TableLock } from '../support/database/test-database.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { rejectionOf } from '../support/rejection.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ROSE = { id: 2n ** 53n + 1n, name: 'Rose', tag: 'flower' };
const { id: ID, ...ANSWER } = ROSE;

describe('examples/client.ts', () => {
  let store: Store;
  let baseUrl: string;
  /** The `Idempotency-Key` of each attempt. */
  const keys: (string | null)[] = [];
  /** The error number of each answer that came, undefined for a plant. */
  const errors: unknown[] = [];

  beforeAll(async () => {
    const { fetch } = globalThis;
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
      keys.push(new Headers(init?.headers).get('Idempotency-Key'));
      const response = await fetch(url, init);
      errors.push(((await response.clone().json()) as { error?: number }).error);
      return response;
    });
    store = await startStore({ WRITE_QUEUE_LIMIT: '1' });
    baseUrl = `http://127.0.0.1:${store.port}`;
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await store.stop();
  });
  afterEach(async () => {
    keys.length = 0;
    errors.length = 0;
    await store.database.query('TRUNCATE plants');
  });

  const create = (): Promise<object> => createPlant({ baseUrl, token: TOKEN }, ROSE);
  const stored = (): Promise<object[]> => store.database.query('SELECT id, name, tag FROM plants');

  /** Expects several attempts with one key, the first refused with this number, if it was answered, and the last answered with the plant. */
  function expectRepeated(first: number | undefined): void {
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys)).toEqual(new Set([expect.stringMatching(/./)]));
    expect([errors[0], errors.at(-1)]).toEqual([first, undefined]);
  }

  it('should compile under strict settings, for browsers too', () => {
    const settings =
      '--strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --target es2023 --lib es2023,dom';
    const args = `--ignoreConfig --noEmit ${settings} examples/client.ts`.split(' ');
    expect(execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args], { cwd: ROOT })).toHaveLength(0);
  });

  it('should create a plant whose id a number would round', async () => {
    expect(await create()).toEqual(ANSWER);
    expect(await stored()).toEqual([{ ...ROSE, id: '9007199254740993' }]);
    expect(errors).toEqual([undefined]);
  });

  it('should throw a refusal, with its number and message', async () => {
    await create();
    const failure = await rejectionOf(create());
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure).toMatchObject({ error: 40901, message: expect.stringContaining(`40901: The id ${ID} is taken`) });
    expect(errors).toEqual([undefined, 40901]);
  });

  it('should wait for Retry-After if the store is overloaded (50301)', async () => {
    await using lock = await TableLock.take(store.database);
    const others: Promise<unknown>[] = [];
    const post = (id: number): void => void others.push(store.post(JSON.stringify({ id, name: 'Fern' })));
    // As many as PostgreSQL gets at a time, and one that waits.
    for (let id = 1; id <= 4; id++) {
      post(id);
      await lock.awaited(id);
    }
    post(5);
    await until(() => store.waiting() === 1);

    const creating = create();
    await until(() => errors.length === 1);
    const refused = performance.now();
    await lock.release();
    expect(await creating).toEqual(ANSWER);
    // A timer may be early by one.
    expect(performance.now() - refused).toBeGreaterThan(900);
    expectRepeated(50301);
    await Promise.all(others);
  });

  it('should send a plant again if its outcome is unknown (50400)', async () => {
    // Each statement is canceled, as by an administrator.
    await store.database.query(`
      CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'query_canceled'; END $$;
      CREATE TRIGGER cancel BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION cancel()`);
    const creating = create();
    await until(() => errors.length === 1);
    await store.database.query('DROP TRIGGER cancel ON plants');
    expect(await creating).toEqual(ANSWER);
    expectRepeated(50400);
    expect(await stored()).toHaveLength(1);
  });

  it('should get the same answer if the first one is lost', async () => {
    const proxy = await TcpProxy.start(baseUrl);
    proxy.loseAnswerTo('POST /plants');
    expect(await createPlant({ baseUrl: proxy.url.replace(/\/$/, ''), token: TOKEN }, ROSE)).toEqual(ANSWER);
    await proxy.close();
    expectRepeated(undefined);
    expect(await stored()).toHaveLength(1);
  });
});
