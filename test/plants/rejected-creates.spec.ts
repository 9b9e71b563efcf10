import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { TableLock } from '../support/database/test-database.js';
import { createTogether, type TogetherCreate } from '../support/http/request.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { ProxiedStore } from '../support/service/store.js';
import { until } from '../support/until.js';

const NEIGHBOURS = [1, 2, 3, 4, 5, 6];
const CULPRIT = 100;

const create = (id: number, tag?: string): TogetherCreate => ({ body: JSON.stringify({ id, name: 'Rose', tag }) });

describe('A create that PostgreSQL rejects, on the only connection', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    store = await ProxiedStore.start({ DATABASE_POOL_SIZE: '1', STORAGE_TIMEOUT: '3000', ERROR_STATUS: 'semantic' });
    // The tag says what becomes of a plant: it is rejected with this SQLSTATE, or left out.
    await store.database.query(`
      CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.tag = 'left out' THEN RETURN NULL; END IF;
        IF NEW.tag IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = NEW.tag, MESSAGE = 'a detail for the log'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER reject BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION reject()`);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await store.database.query('TRUNCATE plants');
  });
  afterAll(() => store.stop());

  const sessions = (): Promise<{ pid: number }[]> =>
    store.database.query(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'plant-store' AND datname = current_database()`,
    );
  const together = async (tag: string): Promise<[RawResponse | undefined, (RawResponse | undefined)[]]> => {
    const [before, after] = [NEIGHBOURS.map((id) => create(id)), NEIGHBOURS.map((id) => create(-id))];
    const responses = await createTogether(store.port, [...before, create(CULPRIT, tag), ...after]);
    const [culprit] = responses.splice(NEIGHBOURS.length, 1);
    return [culprit, responses];
  };

  it.each([
    ['left out', 50000],
    ['23514', 50000],
    ['40001', 50300],
  ])('should fail alone if it is %s: with %d', async (tag, error) => {
    await store.expectCreated(0);
    const before = await sessions();
    const [culprit, neighbours] = await together(tag);

    expect(store.expectRefused(culprit, error)).not.toMatch(/a detail|SQL|INSERT|plants"/);
    expect(culprit?.headers['retry-after']).toBe(error === 50300 ? '1' : undefined);
    for (const response of neighbours) expect(response).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    expect(await store.storedIds()).toHaveLength(1 + neighbours.length);
    expect(store.statistics).toMatchObject({ inFlight: 0 });
    expect(store.waiting()).toBe(0);
    expect(before).toHaveLength(1);
    expect(await sessions()).toEqual(before);
  });

  it.each([
    ['the disk is full', '53100', 50300],
    ['a privilege is missing', '42501', 50000],
  ])('should fail as all others do if %s (%s): with %d', async (_, tag, error) => {
    const [culprit, neighbours] = await together(tag);
    for (const response of [culprit, ...neighbours]) store.expectRefused(response, error);
    expect(await store.storedIds()).toEqual([]);
  });

  it('should have an unknown outcome if a pooler has lost the server, and take no others along', async () => {
    const culprit = store.send({ id: CULPRIT, name: 'Rose', tag: '08006' });
    const client = async (first: number): Promise<void> => {
      for (let id = first; id < first + 5; id += 1)
        expect(await store.send({ id, name: 'Rose' })).toMatchObject({ status: 200 });
    };
    const others = Promise.all(Array.from({ length: 8 }, (_, at) => client(1000 + 100 * at)));
    const first = await Promise.race([others.then(() => 'the others'), culprit.then(() => 'the culprit')]);
    store.expectUnknown(await culprit);
    await others;
    expect(first).toBe('the others');
  });

  it('should have its cause in the log alone, under the request id of the answer, without the plant', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const response = await store.send({ id: 1, name: "nobody else's business", tag: 'XX000' });
    expect(error.mock.calls).toEqual([
      [
        expect.any(String),
        { error: 50000, requestId: response.headers['x-request-id'], token: 'static', plantId: '1' },
        expect.stringContaining('a detail for the log'),
      ],
    ]);
    expect(JSON.stringify(error.mock.calls)).not.toMatch('business');
  });
});

describe('Creates that wait for a lock', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    // Longer than a lock is held on a slow machine.
    store = await ProxiedStore.start({ WRITE_QUEUE_LIMIT: '20', STORAGE_TIMEOUT: '10000', ERROR_STATUS: 'semantic' });
  });
  afterEach(() => store.database.query('TRUNCATE plants'));
  afterAll(() => store.stop());

  it('should not count among those that wait what the next statement takes', async () => {
    const creates = Array.from({ length: 60 }, (_, at) => create(at + 1));
    const responses = await createTogether(store.port, creates);
    expect(responses.map((response) => response?.status)).toEqual(creates.map(() => 200));
  });

  it('should hold back no others, neither those of their statement nor later ones', async () => {
    const other = new pg.Client(store.database.url);
    await other.connect();
    try {
      await other.query(`BEGIN; INSERT INTO plants (id, name) VALUES (${CULPRIT}, 'Lily')`);
      const together = createTogether(
        store.port,
        [CULPRIT, ...NEIGHBOURS].map((id) => create(id)),
      );
      await until(async () => (await store.storedIds()).length === NEIGHBOURS.length);
      for (const id of NEIGHBOURS) await store.expectCreated(-id);
      expect(store.statistics.inFlight).toBe(1);
      await other.query('COMMIT');
      const [culprit, ...neighbours] = await together;
      store.expectRefused(culprit, 40901);
      for (const response of neighbours) expect(response).toMatchObject({ status: 200 });
    } finally {
      await other.end();
    }
  });

  it('should be refused with 50301 from WRITE_QUEUE_LIMIT on, and the others be created', async () => {
    await using lock = await TableLock.take(store.database);
    // As many statements as go at a time, however long each of them takes.
    const sent: Promise<RawResponse>[] = [];
    while (sent.length < 4) {
      sent.push(store.create(sent.length));
      await lock.awaited(sent.length);
    }
    const together = createTogether(
      store.port,
      Array.from({ length: 22 }, (_, index) => create(CULPRIT + index)),
    );
    await until(() => store.waiting() === 20);
    await lock.release();

    const responses = await together;
    for (const response of [...(await Promise.all(sent)), ...responses.slice(0, 20)])
      expect(response).toMatchObject({ status: 200 });
    for (const response of responses.slice(20)) store.expectNothingWritten(response, 50301);
    expect(await store.storedIds()).toHaveLength(24);
  });
});
