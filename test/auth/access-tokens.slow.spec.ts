import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken } from '../../src/auth/token-format.js';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { ManagedService, PlantStoreProcess } from '../support/service/process.js';
import { ProxiedStore } from '../support/service/store.js';
import {
  bearer,
  digestForms,
  errorOf,
  issueToken,
  NO_PLANT,
  type StoredToken,
} from '../support/tokens/issued-token.js';
import { JwtIssuer, signingKey } from '../support/tokens/jwt-issuer.js';
import { expectWithin, Stopwatch, until } from '../support/until.js';

const STORAGE_TIMEOUT = 3000;
const PROMISED_MS = 2000;

describe('Issued access tokens and their database', () => {
  let store: ProxiedStore;
  let known: StoredToken;

  beforeAll(async () => {
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) });
  });
  afterAll(() => store.stop());
  beforeEach(async () => {
    known = await issueToken(store.database);
    await until(async () => (await verdict(known.token)) === 40003);
  });
  afterEach(() => {
    store.proxy.restore();
  });

  const verdict = async (token: string): Promise<unknown> => errorOf(await store.sendBody(NO_PLANT, bearer(token)));

  it.each(['reset', 'freeze'] as const)(
    'should wait as long as a create after a %s, and be right again when it is over',
    async (fail) => {
      store.proxy[fail]();
      for (const token of [makeToken(), known.token]) {
        using stopwatch = new Stopwatch();
        // The one that was used a moment ago is still confirmed, for two seconds at most.
        store.expectNothingWritten(await store.sendBody(NO_PLANT, bearer(token)));
        expect(stopwatch.elapsed).toBeLessThan(3 * STORAGE_TIMEOUT);
      }
      expect(await verdict(known.token.slice(0, -1))).toBe(40101);
      store.proxy.restore();
      await until(async () => (await verdict(known.token)) === 40003);
      expect(await verdict(makeToken())).toBe(40101);
    },
  );

  it('should not be refused for a database that is away for a moment', async () => {
    const unknown = await issueToken(store.database, { name: 'unknown' });
    store.proxy.reset();
    const answers = Promise.all([unknown, unknown].map(({ token }) => verdict(token)));
    await new Promise((done) => setTimeout(done, STORAGE_TIMEOUT / 3));
    store.proxy.restore();
    expect(await answers).toEqual([40003, 40003]);
  });

  it('should not wait, if they are confirmed, for look-ups that wait for a lock', async () => {
    await using lock = await TableLock.take(store.database, 'access_tokens');
    const confirmed = performance.now();
    const unknown = verdict(makeToken());
    await lock.awaited();
    while (performance.now() < confirmed + 1000) {
      using stopwatch = new Stopwatch();
      expect(await verdict(known.token)).toBe(40003);
      expect(stopwatch.elapsed).toBeLessThan(500);
    }
    await lock.release();
    expect(await unknown).toBe(40101);
  });

  it('should not be let in 2 s after they were revoked, though the connection is silent, and so is the next one', async () => {
    store.proxy.freezeOpen(1);
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    await expectWithin(PROMISED_MS, async () => (await verdict(known.token)) !== 40003);
    await until(async () => (await verdict(known.token)) === 40101);
  });
});

describe(IssuedTokenVerifier.name, () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let token: string;
  let verifier: IssuedTokenVerifier;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    ({ token } = await issueToken(database));
    verifier = new IssuedTokenVerifier({ url: proxy.url });
  });
  afterEach(async () => {
    await verifier.onApplicationShutdown();
    proxy.restore();
    await proxy.close();
    await database.drop();
  });

  it('should send one statement a round for ten thousand tokens, and wait for none of those that are confirmed', async () => {
    const ROUNDS = 5;
    const tokens = Array.from({ length: 10_000 }, makeToken);
    await database.query(
      `INSERT INTO access_tokens (name, digest, scopes) SELECT 'gardener', sha256(token::bytea), '{}' FROM unnest($1::text[]) AS token`,
      [tokens],
    );
    const verdicts = await Promise.all(tokens.map(async (one) => verifier.verify(one)));
    expect(verdicts.filter((verdict) => verdict?.name !== 'gardener')).toEqual([]);
    const statements = proxy.counting('pg_is_in_recovery');
    const begin = performance.now();
    await until(() => statements.count >= ROUNDS);
    expect(performance.now() - begin).toBeGreaterThan((ROUNDS - 1) * 500);
    expect(tokens.filter((one) => verifier.verify(one) instanceof Promise)).toEqual([]);
  });

  it('should confirm a token whose last use cannot be recorded, as another session has locked it', async () => {
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('BEGIN; UPDATE access_tokens SET name = name');
    expect(await verifier.verify(token)).toMatchObject({ name: 'gardener' });
    const statements = proxy.counting('pg_is_in_recovery');
    await until(() => statements.count >= 5);
    expect(verifier.verify(token)).toMatchObject({ name: 'gardener' });
    await holder.end();
  });

  it('should end with the application though the database is silent, and leave no connection', async () => {
    expect(await verifier.verify(token)).toMatchObject({ name: 'gardener' });
    proxy.freeze();
    const unknown = Promise.resolve(verifier.verify(makeToken())).catch((error: unknown) => error);
    using stopwatch = new Stopwatch();
    await verifier.onApplicationShutdown();
    expect(stopwatch.elapsed).toBeLessThan(3000);
    expect(await unknown).not.toHaveProperty('scopes');
    proxy.restore();
    await until(() => proxy.connections === 0);
  });

  it('should not keep a process from ending that does not close its application', async () => {
    const file = new URL('../../dist/auth/issued-token.verifier.js', import.meta.url);
    const code = `const { IssuedTokenVerifier } = require(${JSON.stringify(file.pathname)});
      new IssuedTokenVerifier({ url: process.argv[1] }).verify(process.argv[2]).then(({ name }) => console.log(name));`;
    const run = new PlantStoreProcess([code, proxy.url, token], { script: '-e' });
    expect(await run.ended).toBe(0);
    expect(run.output).toBe('gardener\n');
  });
});

describe('Access tokens, JWTs and their digests', () => {
  it('should be in no log, answer, metric or list of processes, and why they were refused in the log', async () => {
    const [key, stranger] = [await signingKey('a'), await signingKey('a-key-of-a-stranger')];
    await using issuer = await JwtIssuer.start([key]);
    await using running = await ManagedService.start({ ...issuer.variables, LOG_LEVEL: 'trace' });
    const { database, process: service } = running;
    const shown: string[] = [];
    const tokens: string[] = [];
    const verdict = async (token: string): Promise<unknown> => {
      tokens.push(token);
      const response = await service.post(NO_PLANT, bearer(token));
      shown.push(JSON.stringify(response));
      return errorOf(response);
    };
    const show = async (): Promise<void> => {
      shown.push(await (await running.managed('/metrics')).text());
      shown.push((await promisify(execFile)('ps', ['-A', 'eww', '-o', 'args='])).stdout);
      shown.push(JSON.stringify(await database.query('SELECT * FROM pg_stat_activity')));
    };

    const right = await issueToken(database);
    for (const token of [right.token, issuer.token()]) expect(await verdict(token)).toBe(40003);
    expect(await verdict((await issueToken(database, { scopes: [] })).token)).toBe(40300);
    const wrong = makeToken();
    const expired = await issueToken(database, { name: 'expired', expires: '-1 day' });
    await database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [right.id]);
    await until(async () => (await verdict(right.token)) === 40101);
    for (const token of [
      expired.token,
      wrong,
      `${wrong.slice(0, -2)}__`,
      issuer.token({ aud: 'a-house-of-somebody-else' }),
      issuer.token({ sub: 'gar\0dener' }),
      issuer.token({}, { crit: ['an-extension'], 'an-extension': 1 }),
      issuer.token({}, {}, stranger),
      issuer.token({}, { kid: 'a' }, stranger),
    ])
      expect(await verdict(token)).toBe(40101);
    await show();

    await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
    for (let i = 0; i < 3; i++) expect(await verdict(makeToken())).toBe(50300);
    await show();
    await database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
    await service.printed(/Access tokens can be looked up again/);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);

    const messages = service.log.map(({ level, message }) => `${String(level)} ${String(message)}`);
    for (const line of [
      'info A JWT was refused: aud is "a-house-of-somebody-else", should be https://plants.example',
      'info A JWT was refused: kid is "a-key-of-a-stranger", should be that of a key of the issuer',
      `info An access token was refused. "gardener" with the id ${right.id} was revoked at 2`,
      `info An access token was refused. "expired" with the id ${expired.id} has expired at 2`,
      'info An access token was refused. The database does not have it',
    ])
      expect(messages).toContainEqual(expect.stringContaining(line));
    expect(messages.filter((message) => message.includes('Access tokens can'))).toEqual([
      expect.stringMatching(/^warn .* cannot be looked up: relation "public.access_tokens" does not exist/),
      'info Access tokens can be looked up again',
    ]);
    const everything = [service.output, ...shown].join('\n');
    // Or nothing would be found for another reason.
    expect(everything).toContain('plant-store-tokens');
    expect(everything).toContain('dist/main.js serve');
    const secrets = [...new Set(tokens)].flatMap((token) => [
      ...token.split('.').map((part) => part.slice(0, 24)),
      ...digestForms(token),
    ]);
    expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
  });
});
