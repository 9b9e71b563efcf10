import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { issueToken } from '../../test/support/tokens/issued-token.js';
import { until } from '../../test/support/until.js';
import { UrlDatabase } from '../database/url-database.js';
import { CREATE_PLANTS } from './token-verifier.js';
import { TokenError, TokensService } from './tokens.service.js';

const SCOPES = [CREATE_PLANTS];
const DAY_SECONDS = 86_400;
const WAITING = `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
  WHERE NOT granted`;

describe(TokensService.name, () => {
  let database: TestDatabase;
  let opened: UrlDatabase[];
  let one: TokensService;

  const open = (url = database.url): TokensService => {
    const own = new UrlDatabase({ url, size: 1, timeout: 10_000 });
    opened.push(own);
    return new TokensService(own);
  };

  beforeEach(async () => {
    database = await createTestDatabase();
    // Defaults that a database may have, and under which Prisma would read and write other moments.
    await database.query(`DO $$ BEGIN
      EXECUTE format('ALTER DATABASE %I SET timezone TO "Asia/Kolkata"', current_database());
      EXECUTE format('ALTER DATABASE %I SET datestyle TO "German"', current_database());
      EXECUTE format('ALTER DATABASE %I SET synchronous_commit TO off', current_database());
      EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation TO "repeatable read"', current_database());
    END $$`);
    opened = [];
    one = open();
  });
  afterEach(async () => {
    await Promise.all(opened.map((own) => own.onApplicationShutdown()));
    await database.drop();
  });

  const states = async (): Promise<string[]> => (await one.list()).map(({ state }) => state);

  it('should create, list, rotate and revoke by the clock of the database, in Asia/Kolkata too', async () => {
    const { token, record } = await one.create('shop', SCOPES, { seconds: DAY_SECONDS });
    expect(token).toMatch(/^plant_[0-9A-Za-z]{38}$/);
    expect(record).toMatchObject({
      id: 1,
      name: 'shop',
      scopes: SCOPES,
      lastUsedAt: null,
      revokedAt: null,
      state: 'valid',
    });
    expect(await one.list()).toEqual([record]);
    const stored = `SELECT abs(extract(epoch FROM now() - created_at)) < 60 AS "isNow",
      extract(epoch FROM expires_at - created_at)::int AS life FROM access_tokens`;
    expect(await database.query(stored)).toEqual([{ isNow: true, life: DAY_SECONDS }]);

    const rotated = await one.rotate('shop', 3600);
    expect(rotated).toMatchObject({ record: { id: 2, scopes: SCOPES }, replaced: [{ id: 1, state: 'valid' }] });
    const [old, successor] = await one.list();
    expect(((old?.expiresAt?.getTime() ?? 0) - Date.now()) / 1000).toBeCloseTo(3600, -2);
    expect(((successor?.expiresAt?.getTime() ?? 0) - (successor?.createdAt.getTime() ?? 0)) / 1000).toBe(DAY_SECONDS);
    expect((await one.rotate('shop', 0)).replaced).toMatchObject([{ state: 'revoked' }, { state: 'revoked' }]);

    expect(await one.revoke('3')).toMatchObject({ revoked: [{ id: 3, state: 'revoked' }], ended: [] });
    expect(await one.revoke('shop')).toMatchObject({ revoked: [], ended: [{ id: 1 }, { id: 2 }, { id: 3 }] });
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ['duplicate', 'has the name shop already, with the id 1. Rotate it', () => one.create('shop', SCOPES, 'never')],
    ['past', 'would have expired already', () => one.create('other', SCOPES, { at: new Date(0) })],
    ['unknown', 'the name "nobody"', () => one.rotate('nobody', 0)],
    ['unknown', 'the id "5"', () => one.revoke('5')],
    ['ended', 'Create one: plant-store token create gone', () => one.rotate('gone', 0)],
  ])('should refuse a change that is not possible: %s', async (code, message, change) => {
    await one.create('shop', SCOPES, 'never');
    await issueToken(database, { name: 'gone', expires: '-1 second' });
    await expect(change()).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect(await states()).toEqual(['expired', 'valid']);
  });

  it.each([
    ['infinity', null, 'valid'],
    ['10000-01-01', null, 'valid'],
    ['-infinity', new Date(0), 'expired'],
  ])('should read a row that ends at %s', async (end, expiresAt, state) => {
    await issueToken(database, { name: 'shop' });
    await database.query('UPDATE access_tokens SET expires_at = $1, scopes = NULL', [end]);
    expect(await one.list()).toMatchObject([{ expiresAt, state, scopes: [] }]);
    if (state === 'valid') expect((await one.rotate('shop', 0)).record.expiresAt).toBeNull();
  });

  it.each([
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ])(
    'should have a change on the disk when it is reported: of synchronous_commit %s it makes %s',
    async (given, made) => {
      await database.query(`CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      NEW.name := current_setting('synchronous_commit'); RETURN NEW; END $$`);
      await database.query('CREATE TRIGGER tell BEFORE INSERT ON access_tokens FOR EACH ROW EXECUTE FUNCTION tell()');
      const url = new URL(database.url);
      url.searchParams.set('options', `-c synchronous_commit=${given}`);
      await open(url.href).create('shop', SCOPES, 'never');
      expect(await one.list()).toMatchObject([{ name: made }]);
    },
  );

  it('should say what is unknown if the commit is not confirmed, and else that nothing was changed', async () => {
    const proxy = await TcpProxy.start(database.url);
    const other = open(proxy.url);
    proxy.loseAnswerTo('COMMIT\0');
    await expect(other.create('shop', SCOPES, 'never')).rejects.toMatchObject({
      code: 'unconfirmed',
      message: expect.stringMatching(/^outcome unknown, see plant-store token list: /),
    });
    proxy.loseAnswerTo('INSERT');
    const failure = { code: 'failed', message: expect.stringContaining('Nothing was changed') as unknown };
    await expect(other.create('farm', SCOPES, 'never')).rejects.toMatchObject(failure);
    expect(await one.list()).toMatchObject([{ name: 'shop' }]);
    await proxy.close();
  });

  describe('if several do something at once', () => {
    /** Nobody is done before all of them have read what they may, and wait for somebody. */
    async function atOnce<T>(...changes: (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> {
      const holder = new pg.Client(database.url);
      await holder.connect();
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
      const results = await atOnce(...[1, 2, 3].map(() => () => open().create('shop', SCOPES, 'never')));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(TokenError);
      expect(await states()).toEqual(['valid']);
    });

    it('should rotate one after the other, each what the one before has made', async () => {
      await issueToken(database, { name: 'shop' });
      await atOnce(...[1, 2, 3].map(() => () => open().rotate('shop', 0)));
      expect(await states()).toEqual(['revoked', 'revoked', 'revoked', 'valid']);
    });

    it.each([['rotate'], ['revoke']])(
      'should leave none valid after rotate and revoke, with %s first',
      async (first) => {
        await issueToken(database, { name: 'shop' });
        const changes = [
          (): Promise<unknown> => open().rotate('shop', 3600),
          (): Promise<unknown> => open().revoke('shop'),
        ];
        await atOnce(...(first === 'rotate' ? changes : changes.reverse()));
        expect(await states()).not.toContain('valid');
      },
    );
  });
});
