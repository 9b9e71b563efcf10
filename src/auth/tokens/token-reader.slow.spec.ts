import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TableLock } from '../../../test/support/database/table-lock.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database/test-database.js';
import { TcpProxy } from '../../../test/support/http/tcp-proxy.js';
import { tokenSessions } from '../../../test/support/service/store-instances.js';
import { stall } from '../../../test/support/stall.js';
import { Stopwatch } from '../../../test/support/stopwatch.js';
import { issueToken } from '../../../test/support/tokens/issued-token.js';
import { until } from '../../../test/support/until.js';
import { TokenReader } from './token-reader.js';
import { makeToken, tokenDigest } from './token.js';

const HOUR_MS = 3_600_000;

describe(TokenReader.name, () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let store: TokenReader;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    store = new TokenReader({ url: proxy.url });
  });
  afterEach(async () => {
    store.destroy();
    await proxy.close();
    await database.drop();
  });

  it('should find its table whatever the schema is called', async () => {
    const schema = `Green "house's`;
    await database.query(`ALTER SCHEMA public RENAME TO ${pg.escapeIdentifier(schema)}`);
    const other = new TokenReader({ url: database.url, schema });
    expect(await other.find([])).toEqual([]);
    await other.recordUses([{ id: 1, age: 0 }]);
    await other.end();
  });

  describe('its connection', () => {
    const lookUp = (): Promise<unknown> => store.find([tokenDigest(makeToken())]);

    it('should be replaced if the process was busy while the answer came', async () => {
      await lookUp();
      const answer = lookUp();
      // The statement is on its way.
      await new Promise(setImmediate);
      stall(1500);
      expect(await answer).toEqual([]);
    });

    it('should give up a statement that waits for a lock, also on the server', async () => {
      await lookUp();
      await using lock = await TableLock.take(database, 'access_tokens');
      const start = performance.now();
      using stopwatch = new Stopwatch();
      await expect(lookUp()).rejects.toThrow();
      expect(performance.now() - start).toBeGreaterThanOrEqual(990);
      expect(stopwatch.elapsed).toBeLessThan(4000);
      await lock.awaited(0);
    });

    it('should be given up in the middle of a statement', async () => {
      await lookUp();
      proxy.freeze();
      const hanging = expect(lookUp()).rejects.toThrow();
      store.destroy();
      await hanging;
      proxy.restore();
    });
  });

  describe('recording uses', () => {
    const lastUse = async (): Promise<number | null | undefined> => {
      const sql = 'SELECT extract(epoch FROM now() - last_used_at)::float8 AS ago FROM access_tokens';
      return (await database.query<{ ago: number | null }>(sql))[0]?.ago;
    };

    it.each([
      ['within the minute after', '30 seconds', 0, 30],
      ['before', '10 minutes', HOUR_MS, 600],
      ['later', '10 minutes', 0, 0],
      ['a little more than a minute later', '100 seconds', 30_000, 30],
    ])('should write a use down at most once a minute: one that was %s', async (_, before, age, expected) => {
      const { id } = await issueToken(database);
      await database.query(`UPDATE access_tokens SET last_used_at = now() - $1::interval`, [before]);
      await store.recordUses([{ id, age }]);
      const ago = await lastUse();
      expect(ago).toBeGreaterThanOrEqual(expected);
      expect(ago).toBeLessThan(expected + 25);
    });

    it('should not wait long for a change of a token, or of the table', async () => {
      const { id } = await issueToken(database);
      const client = new pg.Client(database.url);
      await client.connect();
      try {
        await client.query('BEGIN; UPDATE access_tokens SET revoked_at = now()');
        await expect(store.recordUses([{ id, age: 0 }])).rejects.toThrow('lock timeout');
        await client.query('ROLLBACK; BEGIN; LOCK TABLE access_tokens IN SHARE MODE');
        await expect(store.recordUses([{ id, age: 0 }])).rejects.toThrow('lock timeout');
        await client.query('ROLLBACK');
      } finally {
        await client.end();
      }
      expect(await lastUse()).toBeNull();
      await store.recordUses([{ id, age: 0 }]);
      expect(await lastUse()).not.toBeNull();
    });

    it('should have another connection, which then replaces the one of before', async () => {
      const { id } = await issueToken(database);
      await store.find([]);
      const before = await tokenSessions(database);
      await store.recordUses([{ id, age: 0 }]);
      await until(async () => (await tokenSessions(database)).length === 1);
      const after = await tokenSessions(database);
      expect(after.map(({ pid }) => pid)).not.toEqual(before.map(({ pid }) => pid));
      await store.find([]);
      expect((await tokenSessions(database)).map(({ pid }) => pid)).toEqual(after.map(({ pid }) => pid));
    });

    it('should close its connection if nothing could be recorded', async () => {
      await store.find([]);
      const before = await tokenSessions(database);
      await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
      await expect(store.recordUses([{ id: 1, age: 0 }])).rejects.toThrow('does not exist');
      await until(async () => (await tokenSessions(database)).length === 1);
      expect((await tokenSessions(database)).map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
    });

    it('should give up all connections to a server that is read-only by now', async () => {
      const { id } = await issueToken(database);
      await store.find([]);
      const name = pg.escapeIdentifier(new URL(database.url).pathname.slice(1));
      await database.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      await expect(store.recordUses([{ id, age: 0 }])).rejects.toThrow('read-only');
      await until(async () => (await tokenSessions(database)).length === 0);
      await store.find([]);
    });

    it('should leave the settings of the session as they were', async () => {
      await store.find([]);
      const { id } = await issueToken(database);
      await store.recordUses([{ id, age: 0 }]);
      await using lock = await TableLock.take(database, 'access_tokens');
      // With the short limit of the record it would fail before anybody sees it wait.
      const waiting = store.find([tokenDigest(makeToken())]);
      await lock.awaited();
      await lock.release();
      expect(await waiting).toEqual([]);
    });
  });
});
