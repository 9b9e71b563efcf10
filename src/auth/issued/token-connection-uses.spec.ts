import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { issueToken } from '../../../test/support/issued-token.js';
import { OpenTokenConnection } from '../../../test/support/open-token-connection.js';
import type { TestDatabase } from '../../../test/support/test-database.js';
import { TokenConnection } from './token-connection.js';

const HOUR_MS = 3_600_000;

describe(`${TokenConnection.name}, recording uses`, () => {
  let open: OpenTokenConnection;
  let database: TestDatabase;
  let connection: TokenConnection;

  beforeEach(async () => {
    open = await OpenTokenConnection.start();
    ({ database, connection } = open);
  });
  afterEach(() => open[Symbol.asyncDispose]());

  const lastUse = async (): Promise<number | null | undefined> => {
    const sql = 'SELECT extract(epoch FROM now() - last_used_at)::float8 AS ago FROM access_tokens';
    return (await database.query<{ ago: number | null }>(sql))[0]?.ago;
  };
  const usedBefore = (interval: string): Promise<unknown> =>
    database.query(`UPDATE access_tokens SET last_used_at = now() - $1::interval`, [interval]);

  it('should write down when a token was used, and of no other', async () => {
    const { id } = await issueToken(database);
    await connection.recordUses([{ id: id + 1, age: 0 }]);
    expect(await lastUse()).toBeNull();
    await connection.recordUses([
      { id, age: 3_600_000.4 },
      { id: id + 1, age: 0 },
    ]);
    expect(await lastUse()).toBeCloseTo(3600, -2);
  });

  it.each([
    ['within the minute after', '30 seconds', 0, 30],
    ['before', '10 minutes', HOUR_MS, 600],
    ['later', '10 minutes', 0, 0],
    ['a little more than a minute later', '100 seconds', 30_000, 30],
  ])('should write a use down at most once a minute: one that was %s', async (_, before, age, expected) => {
    const { id } = await issueToken(database);
    await usedBefore(before);
    await connection.recordUses([{ id, age }]);
    const ago = await lastUse();
    expect(ago).toBeGreaterThanOrEqual(expected);
    expect(ago).toBeLessThan(expected + 25);
  });

  it('should not wait for those who are changing a token, or the table', async () => {
    const { id } = await issueToken(database);
    const client = new pg.Client(database.url);
    await client.connect();
    try {
      await client.query('BEGIN; UPDATE access_tokens SET revoked_at = now()');
      await connection.recordUses([{ id, age: 0 }]);
      await client.query('ROLLBACK; BEGIN; LOCK TABLE access_tokens IN SHARE MODE');
      await expect(connection.recordUses([{ id, age: 0 }])).rejects.toThrow('lock timeout');
      expect(connection.isOpen).toBe(true);
      await client.query('ROLLBACK');
    } finally {
      await client.end();
    }
    expect(await lastUse()).toBeNull();
    await connection.recordUses([{ id, age: 0 }]);
    expect(await lastUse()).not.toBeNull();
  });
});
