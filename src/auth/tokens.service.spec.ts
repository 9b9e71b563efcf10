import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../test/support/database/test-database.js';
import { TcpProxy } from '../../test/support/http/tcp-proxy.js';
import { UrlPool } from '../prisma/store-pool.js';
import { ISSUED_TOKEN, makeToken, tokenDigest, tokenNameFault, withoutTokens } from './token-format.js';
import { CREATE_PLANTS } from './scopes.js';
import { TokensService } from './tokens.service.js';

/** One that was issued before, with a checksum that nobody computes any more. It stays valid. */
const KNOWN = 'plant_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL';
const KNOWN_DIGEST = 'f44ffa3e926e30d2b11e010bd06dfa76428be5bee592ff81fcd96f520fcda8cc';

describe('The format of an issued token', () => {
  it('should be that of what was made, now and before, and of nothing else', () => {
    expect([ISSUED_TOKEN.test(KNOWN), tokenDigest(KNOWN)]).toEqual([true, KNOWN_DIGEST]);
    const made = Array.from({ length: 1000 }, makeToken);
    expect([new Set(made).size, made.filter((token) => !ISSUED_TOKEN.test(token))]).toEqual([1000, []]);
    for (const other of [KNOWN.slice(0, -1), `${KNOWN}0`, `${KNOWN}\n`, `x${KNOWN}`, KNOWN.replace('1', '-')])
      expect(other).not.toMatch(ISSUED_TOKEN);
  });

  it('should keep a token, whole or cut short, from being shown or taken for a name', () => {
    const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwIn0.c2lnbmF0dXJl';
    for (const token of [KNOWN, KNOWN.slice(0, 30), jwt, jwt.slice(0, 40)])
      expect(withoutTokens(`/plants/${token}/5`)).toBe('/plants/[access token]/5');
    expect(withoutTokens('plant_5 and eyJ')).toBe('plant_5 and eyJ');
    for (const name of ['', 'x'.repeat(101), 'a b', 'zoë', '-x', '5', 'jwt:ann', 'a"b', '$(id)', 'a\u001b', KNOWN])
      expect(tokenNameFault(name)).toMatch(/^must (?!.*plant_)/);
    expect(['shop-2', 'ann@example.org', 'x'.repeat(100)].map(tokenNameFault)).toEqual(Array(3).fill(undefined));
  });
});

const SCOPES = [CREATE_PLANTS];
const DAY_SECONDS = 86_400;

describe(TokensService.name, () => {
  let database: TestDatabase;
  let opened: UrlPool[];
  let one: TokensService;

  const open = (url = database.url): TokensService => {
    const own = new UrlPool({ url, size: 1, timeout: 10_000 });
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

  it('should make and read moments by the clock of the database, in Asia/Kolkata too', async () => {
    const { record } = await one.create('shop', SCOPES, DAY_SECONDS);
    expect(await one.list()).toEqual([record]);
    const sql = `SELECT abs(extract(epoch FROM now() - created_at)) < 60 AS "isNow",
      floor(extract(epoch FROM expires_at) * 1000)::float8 AS end FROM access_tokens`;
    expect(await database.query(sql)).toEqual([{ isNow: true, end: Number(record.expiresAt) }]);
    expect(Number(record.expiresAt) - Number(record.createdAt)).toBe(DAY_SECONDS * 1000);
  });

  it('should say what is unknown if a change is not confirmed, and else that nothing was changed', async () => {
    const proxy = await TcpProxy.start(database.url);
    const other = open(proxy.url);
    proxy.loseAnswerTo('INSERT');
    const unknown = /^outcome unknown, see plant-store token list: /;
    await expect(other.create('shop', SCOPES, Infinity)).rejects.toThrow(unknown);
    proxy.reset();
    await expect(other.create('farm', SCOPES, Infinity)).rejects.toThrow('Nothing was changed');
    expect(await one.list()).toMatchObject([{ name: 'shop' }]);
    await proxy.close();
  });
});
