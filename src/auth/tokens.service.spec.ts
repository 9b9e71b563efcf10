import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { issueToken } from '../../test/support/tokens/issued-token.js';
import { until } from '../../test/support/until.js';
import { UrlDatabase } from '../database/url-database.js';
import { CREATE_PLANTS } from './token-verifier.js';
import { TokensService } from './tokens.service.js';

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
    const rest = { lastUsedAt: null, revokedAt: null, state: 'valid' };
    expect(record).toMatchObject({ id: 1, name: 'shop', scopes: SCOPES, ...rest });
    expect(await one.list()).toEqual([record]);
    const stored = `SELECT abs(extract(epoch FROM now() - created_at)) < 60 AS "isNow",
      extract(epoch FROM expires_at - created_at)::int AS life FROM access_tokens`;
    expect(await database.query(stored)).toEqual([{ isNow: true, life: DAY_SECONDS }]);

    const rotated = await one.rotate('shop', 3600);
    expect(await one.list()).toEqual([...rotated.replaced, rotated.record]);
    const [old, successor] = (await one.list()).map(({ expiresAt }) => Number(expiresAt));
    expect(((old ?? 0) - Date.now()) / 1000).toBeCloseTo(3600, -2);
    expect(((successor ?? 0) - rotated.record.createdAt.getTime()) / 1000).toBe(DAY_SECONDS);
    const again = await one.rotate('shop', 0);
    expect(again.replaced).toMatchObject([{ state: 'revoked' }, { state: 'revoked' }]);
    expect(await one.list()).toEqual([...again.replaced, again.record]);

    expect(await one.revoke('3')).toMatchObject({ revoked: [{ id: 3, state: 'revoked' }], ended: [] });
    expect(await one.revoke('shop')).toEqual({ revoked: [], ended: await one.list() });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['has the name shop already, with the id 1. Rotate it', () => one.create('shop', SCOPES, 'never')],
    ['would have expired already', () => one.create('other', SCOPES, { seconds: -1 })],
    ['the name "nobody"', () => one.rotate('nobody', 0)],
    ['the id "5"', () => one.revoke('5')],
    ['Create one: plant-store token create gone', () => one.rotate('gone', 0)],
  ])('should refuse a change that is not possible: %s', async (message, change) => {
    await one.create('shop', SCOPES, 'never');
    await issueToken(database, { name: 'gone', expires: '-1 second' });
    await expect(change()).rejects.toThrow(message);
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
  ])('should report what is on the disk: of synchronous_commit %s it makes %s', async (given, made) => {
    await database.query(`CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      NEW.name := current_setting('synchronous_commit'); RETURN NEW; END $$`);
    await database.query('CREATE TRIGGER tell BEFORE INSERT ON access_tokens FOR EACH ROW EXECUTE FUNCTION tell()');
    const url = new URL(database.url);
    url.searchParams.set('options', `-c synchronous_commit=${given}`);
    await open(url.href).create('shop', SCOPES, 'never');
    expect(await one.list()).toMatchObject([{ name: made }]);
  });

  it('should say what is unknown if the commit is not confirmed, and else that nothing was changed', async () => {
    const proxy = await TcpProxy.start(database.url);
    const other = open(proxy.url);
    proxy.loseAnswerTo('COMMIT\0');
    const unknown = /^outcome unknown, see plant-store token list: /;
    await expect(other.create('shop', SCOPES, 'never')).rejects.toThrow(unknown);
    proxy.loseAnswerTo('INSERT');
    await expect(other.create('farm', SCOPES, 'never')).rejects.toThrow('Nothing was changed');
    expect(await one.list()).toMatchObject([{ name: 'shop' }]);
    await proxy.close();
  });

  it.each<[string, (name: string) => Promise<unknown>, (name: string) => Promise<unknown>, string[]]>([
    [
      'create and create',
      (name) => open().create(name, SCOPES, 'never'),
      (name) => open().create(name, SCOPES, 'never'),
      ['valid'],
    ],
    [
      'rotate and rotate',
      (name) => open().rotate(name, 0),
      (name) => open().rotate(name, 0),
      ['revoked', 'revoked', 'valid'],
    ],
    ['rotate and revoke', (name) => open().rotate(name, 3600), (name) => open().revoke(name), ['revoked', 'revoked']],
    ['revoke and rotate', (name) => open().revoke(name), (name) => open().rotate(name, 3600), ['revoked']],
  ])('should do one after the other, each by what the one before has made: %s', async (_, first, second, after) => {
    if (after.length > 1 || after[0] === 'revoked') await issueToken(database, { name: 'shop' });
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE access_tokens IN SHARE MODE');
    const waiting = (count: number): Promise<void> =>
      until(async () => (await holder.query(WAITING)).rowCount === count);
    const changes = [first('shop')];
    await waiting(1);
    changes.push(second('shop'));
    await waiting(2);
    await holder.end();
    await Promise.allSettled(changes);
    expect(await states()).toEqual(after);
  });
});
