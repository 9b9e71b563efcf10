import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken } from '../../src/auth/token-format.js';
import { TableLock } from '../support/database/test-database.js';
import { ManagedService } from '../support/service/process.js';
import { type ProxiedStore, startProxiedStore } from '../support/service/store.js';
import {
  bearer,
  digestForms,
  errorOf,
  issueToken,
  JwtIssuer,
  NO_PLANT,
  signingKey,
  type StoredToken,
} from '../support/tokens/tokens.js';
import { expectWithin, Stopwatch, until } from '../support/until.js';

const STORAGE_TIMEOUT = 3000;
const PROMISED_MS = 2000;
const ROUNDS = 5;
const ROUND_MS = 500;

describe('Issued access tokens and their database', () => {
  let store: ProxiedStore;
  let known: StoredToken;

  beforeAll(async () => {
    store = await startProxiedStore({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT) });
  });
  afterAll(() => store.stop());
  beforeEach(async () => {
    known = await issueToken(store.database);
    await until(async () => (await verdict(known.token)) === 40003);
  });
  afterEach(() => {
    store.proxy.restore();
  });

  const verdict = async (token: string): Promise<unknown> => errorOf(await store.post(NO_PLANT, bearer(token)));

  it.each(['reset', 'freeze'] as const)(
    'should wait as long as a create after a %s, and be right again when it is over',
    async (fail) => {
      store.proxy[fail]();
      for (const token of [makeToken(), known.token]) {
        using stopwatch = new Stopwatch();
        // The one that was used a moment ago is still confirmed, for two seconds at most.
        store.expectNothingWritten(await store.post(NO_PLANT, bearer(token)));
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
    const answer = verdict(unknown.token);
    await new Promise((done) => setTimeout(done, STORAGE_TIMEOUT / 3));
    store.proxy.restore();
    expect(await answer).toBe(40003);
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
    store.proxy.freeze(1);
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    await expectWithin(PROMISED_MS, async () => (await verdict(known.token)) !== 40003);
    await until(async () => (await verdict(known.token)) === 40101);
  });

  it('should cost one statement a round, though there are a thousand whose last use cannot be recorded', async () => {
    const tokens = Array.from({ length: 1000 }, makeToken);
    await store.database.query(
      `INSERT INTO access_tokens (name, digest, scopes) SELECT 'many', sha256(token::bytea), '{}' FROM unnest($1::text[]) AS token`,
      [tokens],
    );
    const holder = new pg.Client(store.database.url);
    await holder.connect();
    await holder.query('BEGIN; UPDATE access_tokens SET name = name');
    const verifier = new IssuedTokenVerifier({ url: store.proxy.url });
    const verdicts = await Promise.all(tokens.map(async (one) => verifier.verify(one)));
    expect(verdicts.filter((principal) => principal?.name !== 'many')).toEqual([]);
    // That of the store asks too.
    const [statements, begin] = [store.proxy.counting('pg_is_in_recovery'), performance.now()];
    await until(() => statements.count >= 2 * ROUNDS);
    expect(performance.now() - begin).toBeGreaterThan((ROUNDS - 1) * ROUND_MS);
    expect(tokens.filter((one) => verifier.verify(one) instanceof Promise)).toEqual([]);
    await holder.end();

    // It ends with the application, though the database is silent.
    store.proxy.freeze();
    const late = Promise.resolve(verifier.verify(makeToken())).catch((error: unknown) => error);
    using stopwatch = new Stopwatch();
    await verifier.onApplicationShutdown();
    expect(stopwatch.elapsed).toBeLessThan(STORAGE_TIMEOUT);
    expect(await late).not.toHaveProperty('scopes');
    store.proxy.restore();
    const sessions = `SELECT FROM pg_stat_activity WHERE application_name = 'plant-store-tokens' AND datname = current_database()`;
    await until(async () => (await store.database.query(sessions)).length === 1);
  });
});

it('Tokens and digests should be in no log, answer, metric or list of processes; the log says why they were refused', async () => {
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

  const right = await issueToken(database);
  for (const token of [right.token, issuer.token()]) expect(await verdict(token)).toBe(40003);
  const expired = await issueToken(database, { name: 'expired', expires: '-1 day' });
  await database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [right.id]);
  await until(async () => (await verdict(right.token)) === 40101);
  const wrong = makeToken();
  for (const token of [
    expired.token,
    wrong,
    `${wrong.slice(0, -2)}__`,
    issuer.token({ aud: 'a-house-of-somebody-else' }),
    issuer.token({}, { crit: ['an-extension'], 'an-extension': 1 }),
    issuer.token({}, {}, stranger),
  ])
    expect(await verdict(token)).toBe(40101);
  expect(await verdict(issuer.token({ scope: 'plants:look openid' }))).toBe(40300);
  shown.push(JSON.stringify(await database.query('SELECT * FROM pg_stat_activity')));
  await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
  for (let i = 0; i < 3; i++) expect(await verdict(makeToken())).toBe(50300);
  shown.push(await (await running.managed('/metrics')).text());
  shown.push((await promisify(execFile)('ps', ['-A', 'eww', '-o', 'args='])).stdout);
  await database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
  await service.printed(/Access tokens can be looked up again/);
  service.signal('SIGTERM');
  expect(await service.ended).toBe(0);

  // Each stands once, with the id of its request.
  for (const { message, requestId } of service.log.filter(({ message: text }) => String(text).includes('was refused')))
    expect([message, requestId]).toEqual([message, expect.any(String)]);
  const messages = service.log.map(({ level, message }) => `${String(level)} ${String(message)}`);
  for (const line of [
    'info A JWT was refused: aud is "a-house-of-somebody-else", should be https://plants.example',
    'info A JWT was refused: kid is "a-key-of-a-stranger", should be that of a key of the issuer',
    `info An access token was refused. "gardener" with the id ${right.id} was revoked at 2`,
    `info An access token was refused. "expired" with the id ${expired.id} has expired at 2`,
    'info An access token was refused. The database does not have it',
    `its scopes are "plants:look openid", should include plants:create`,
  ])
    expect(messages.filter((message) => message.includes(line))).toHaveLength(1);
  expect(messages.filter((message) => message.includes('Access tokens can'))).toEqual([
    expect.stringMatching(/^warn .* cannot be looked up: relation "public.access_tokens" does not exist/),
    'info Access tokens can be looked up again',
  ]);
  const everything = [service.output, ...shown].join('\n');
  // Or nothing would be found for another reason.
  for (const text of ['plant-store-tokens', 'dist/cli.js serve']) expect(everything.includes(text)).toBe(true);
  const partsOf = (token: string): string[] => token.split('.').map((part) => part.slice(0, 24));
  const secrets = [...new Set(tokens)].flatMap((token) => [...partsOf(token), ...digestForms(token)]);
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
});
