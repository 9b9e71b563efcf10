import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { issueToken, type StoredToken } from '../../../test/support/issued-token.js';
import { LIMIT_MS, OpenTokenConnection } from '../../../test/support/open-token-connection.js';
import type { TestDatabase } from '../../../test/support/test-database.js';
import { until } from '../../../test/support/until.js';
import { TOKEN_CHANNEL } from './token-channel.js';
import { TokenConnection } from './token-connection.js';
import { makeToken, tokenDigest } from './token-form.js';

const HOUR_MS = 3_600_000;

describe(TokenConnection.name, () => {
  let open: OpenTokenConnection;
  let database: TestDatabase;
  let connection: TokenConnection;

  beforeEach(async () => {
    open = await OpenTokenConnection.start();
    ({ database, connection } = open);
  });
  afterEach(() => open[Symbol.asyncDispose]());

  const find = async ({ token }: StoredToken): Promise<unknown> => (await connection.find([tokenDigest(token)]))[0];

  it('should find what is asked for, and nothing else', async () => {
    const rose = await issueToken(database, { name: 'rose', scopes: ['plants:create', 'plants:read'] });
    const lily = await issueToken(database, { name: 'lily', scopes: [] });
    const revoked = await issueToken(database);
    await database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [revoked.id]);
    const digests = [rose.token, revoked.token, makeToken()].map(tokenDigest);
    const row = {
      id: rose.id,
      digest: tokenDigest(rose.token),
      name: 'rose',
      scopes: ['plants:create', 'plants:read'],
      remaining: null,
    };

    expect(await connection.find(digests)).toEqual([row]);
    expect(await connection.check([rose.id, revoked.id, 999])).toEqual([row]);
    expect(await connection.find([])).toEqual([]);
    expect(await connection.check([lily.id])).toMatchObject([{ name: 'lily', scopes: [] }]);
  });

  it('should tell how long a token has, by the clock of the database', async () => {
    const { remaining } = (await find(await issueToken(database, { expires: '1 hour' }))) as { remaining: number };
    expect(remaining).toBeGreaterThan(HOUR_MS - 60_000);
    expect(remaining).toBeLessThan(HOUR_MS);
    expect(await find(await issueToken(database, { expires: 'infinity' }))).toMatchObject({ remaining: Infinity });
    const ages = await find(await issueToken(database, { expires: '200000 years' }));
    expect(ages).toMatchObject({ remaining: expect.closeTo(200_000 * 365.2425 * 24 * HOUR_MS, -13) });
    const past = (await find(await issueToken(database, { expires: '-4000 years' }))) as { remaining: number };
    expect(past.remaining).toBeLessThan(0);
    await database.query(`UPDATE access_tokens SET expires_at = '-infinity'`);
    expect(await connection.check([1])).toMatchObject([{ remaining: -Infinity }]);
  });

  it('should hear of changes', async () => {
    expect(open.changes).toBe(0);
    await database.query(`NOTIFY ${TOKEN_CHANNEL}`);
    await until(() => open.changes === 1);
    await database.query(`NOTIFY something_else`);
    await database.query(`SELECT pg_notify($1, 'what changed')`, [TOKEN_CHANNEL]);
    await until(() => open.changes === 2);
  });

  it('should tell that it was lost, and be made anew', async () => {
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store-tokens' AND datname = current_database()`,
    );
    await until(() => open.losses.length === 1);
    expect(connection.isOpen).toBe(false);
    await expect(connection.check([1])).rejects.toThrow('closed');
    await connection.open(open.events, LIMIT_MS);
    expect(await connection.check([1])).toEqual([]);
    expect(open.losses).toHaveLength(1);
  });

  it('should outlast a statement that is rejected', async () => {
    await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
    await expect(connection.check([1])).rejects.toThrow('does not exist');
    expect(connection.isOpen).toBe(true);
    await database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
    expect(await connection.check([1])).toEqual([]);
  });

  it('should not take its own process, where that was busy, for a database that does not answer', async () => {
    const answer = connection.check([1]);
    // The statement is on its way.
    await new Promise(setImmediate);
    const end = performance.now() + 1500;
    while (performance.now() < end);
    expect(await answer).toEqual([]);
    expect(connection.isOpen).toBe(true);
  });

  it('should give up a statement that waits for somebody else, and give another connection more time', async () => {
    const client = new pg.Client(database.url);
    await client.connect();
    try {
      await client.query('BEGIN; LOCK TABLE access_tokens');
      for (const [least, most] of [
        [750, 2000],
        [1500, 2750],
      ] as const) {
        const start = performance.now();
        await expect(connection.check([1])).rejects.toThrow('statement timeout');
        expect(performance.now() - start).toBeGreaterThanOrEqual(least);
        expect(performance.now() - start).toBeLessThan(most);
        expect(connection.isOpen).toBe(false);
        await connection.open(open.events, LIMIT_MS);
      }
    } finally {
      await client.end();
    }
    expect(await connection.check([1])).toEqual([]);
    expect(open.losses).toEqual([]);
  });

  it('should find its table whatever the schema is called', async () => {
    const schema = `Green "house's`;
    await database.query(`ALTER SCHEMA public RENAME TO ${pg.escapeIdentifier(schema)}`);
    const other = new TokenConnection({ url: database.url, schema });
    try {
      await other.open(open.events, LIMIT_MS);
      expect(await other.check([1])).toEqual([]);
      await other.recordUses([{ id: 1, age: 0 }]);
    } finally {
      await other.close();
    }
  });
});
