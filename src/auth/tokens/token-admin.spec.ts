import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database/test-database.js';
import { issueToken } from '../../../test/support/tokens/issued-token.js';
import { until } from '../../../test/support/until.js';
import { CREATE_PLANTS } from '../token-verifier.js';
import { TokenAdministration } from './token-admin.js';
import { TokenAdministrationError } from './token-record.js';

const WAITING = `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
  WHERE NOT granted`;

describe(`${TokenAdministration.name}, if several do something at once`, () => {
  let database: TestDatabase;
  let clients: pg.Client[];
  let all: TokenAdministration[];
  let one: TokenAdministration;
  let other: TokenAdministration;

  /** With defaults that a role or a database may have. */
  const connect = async (): Promise<pg.Client> => {
    const options = '-c default_transaction_isolation=repeatable\\ read';
    const client = new pg.Client({ connectionString: database.url, options });
    await client.connect();
    return client;
  };

  beforeEach(async () => {
    database = await createTestDatabase();
    clients = await Promise.all([1, 2, 3, 4].map(connect));
    all = clients.map((client) => new TokenAdministration(client, 'public'));
    [one, other] = all as [TokenAdministration, TokenAdministration];
  });
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await database.drop();
  });

  const states = async (): Promise<string[]> => (await one.list()).map(({ state }) => state);

  /** Nobody is done before all of them have read what they may, and wait for somebody. */
  async function atOnce<T>(...changes: (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> {
    const holder = await connect();
    try {
      await holder.query('BEGIN; LOCK TABLE access_tokens IN SHARE MODE');
      const settled = Promise.allSettled(changes.map((change) => change()));
      await until(async () => (await holder.query(WAITING)).rowCount === changes.length);
      await holder.query('ROLLBACK');
      return await settled;
    } finally {
      await holder.end();
    }
  }

  it('should create one token of a name, and tell all others that it is there', async () => {
    const creates = all.map((tokens) => () => tokens.create('gardener', [CREATE_PLANTS], 'never'));
    const results = await atOnce(...creates);

    const made = results.filter(({ status }) => status === 'fulfilled');
    expect(made).toMatchObject([{ value: { record: { id: 1, name: 'gardener', state: 'valid' } } }]);
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
    expect(errors).toHaveLength(3);
    for (const error of errors) {
      expect(error).toBeInstanceOf(TokenAdministrationError);
      expect(error).toMatchObject({
        code: 'duplicate',
        message: expect.stringMatching(
          /^a valid access token has the name gardener already, with the id 1\. Rotate it/,
        ),
      });
    }
    expect(await states()).toEqual(['valid']);
  });

  it('should rotate one after the other, each what the one before has made', async () => {
    await issueToken(database);
    const results = await atOnce(...all.map((tokens) => () => tokens.rotate('gardener', 0)));

    const replaced = results.flatMap((result) => (result.status === 'fulfilled' ? result.value.replaced : []));
    expect(replaced.map(({ id }) => id).sort()).toEqual([1, 2, 3, 4]);
    expect(await states()).toEqual(['revoked', 'revoked', 'revoked', 'revoked', 'valid']);
  });

  it.each([
    ['rotate', 'revoke'],
    ['revoke', 'rotate'],
  ] as const)('should leave none valid after %s and %s', async (...names) => {
    await issueToken(database);
    const changes = {
      rotate: (): Promise<unknown> => one.rotate('gardener', 3600),
      revoke: (): Promise<unknown> => other.revoke({ name: 'gardener' }),
    };
    const results = await atOnce(...names.map((name) => changes[name]));

    expect(results[names.indexOf('revoke')]).toMatchObject({ status: 'fulfilled' });
    const rotated = results[names.indexOf('rotate')];
    if (rotated?.status === 'rejected') expect(rotated.reason).toMatchObject({ code: 'ended' });
    expect(await states()).not.toContain('valid');
  });
});
