import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { IssuedTokenVerifier } from '../../src/auth/issued-token.verifier.js';
import { makeToken } from '../../src/auth/token-format.js';
import { createTestDatabase, TableLock } from '../support/database/test-database.js';
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

  it('should not be let in 2 s after they were revoked, though the connection is silent, and so is the next one', async () => {
    store.proxy.freeze(1);
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    await expectWithin(PROMISED_MS, async () => (await verdict(known.token)) !== 40003);
    await until(async () => (await verdict(known.token)) === 40101);
  });
});

it.each([
  ['the password', { password: 'wrong' }, /password authentication failed/],
  ['the time', { search: '?options=-c%20search_path%3Dpublic' }, /canceling statement due to statement timeout/],
])('The log should say once why tokens cannot be looked up: %s', async (_, wrong, reason) => {
  const warnings = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const database = await createTestDatabase();
  const lock = await TableLock.take(database, 'access_tokens');
  const { href } = Object.assign(new URL(database.url), wrong);
  const verifier = new IssuedTokenVerifier({ url: href, timeout: 2500 });
  await expect(verifier.verify(makeToken())).rejects.toThrow(reason);
  await lock.release();
  await verifier.onApplicationShutdown();
  await database.drop();
  expect(warnings.mock.calls).toEqual([[expect.stringMatching(reason)]]);
  warnings.mockRestore();
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
  await database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [right.id]);
  await until(async () => (await verdict(right.token)) === 40101);
  const expired = await issueToken(database, { name: 'expired', expires: '-1 day' });
  const [short, unknown] = [right.token.slice(0, -1), 'abc'];
  for (const token of [expired.token, makeToken(), short, unknown]) expect(await verdict(token)).toBe(40101);
  // A fetch was made a moment ago, by the first one at the latest.
  await until(async () => (await verdict(issuer.token({}, {}, stranger))) === 50300);
  expect(await verdict(issuer.token({ scope: 'plants:look openid' }))).toBe(40300);
  shown.push(JSON.stringify(await database.query('SELECT * FROM pg_stat_activity')));
  await database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
  for (let i = 0; i < 3; i++) expect(await verdict(makeToken())).toBe(50300);
  shown.push(await (await running.managed('/metrics')).text());
  shown.push((await promisify(execFile)('ps', ['-A', 'eww', '-o', 'args='])).stdout);
  await database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
  expect(await verdict((await issueToken(database)).token)).toBe(40003);
  await service.printed(/Access tokens can be looked up again/);

  // Each stands once, with the id of its request.
  const refusals = service.log.filter(({ requestId }) => typeof requestId === 'string');
  for (const line of [
    'An access token was refused. It has 43 characters, should be plant_ and 38 letters and digits',
    'An access token was refused. It has 3 characters, and is none of those that this service knows',
    `An access token was refused. "gardener" with the id ${right.id} is revoked since 2`,
    `An access token was refused. "expired" with the id ${expired.id} is expired since 2`,
    'An access token was refused. The database does not have it',
    'its scopes are "plants:look openid", should include plants:create',
  ])
    expect(refusals.filter(({ message }) => String(message).includes(line))).toHaveLength(1);
  const causes = refusals.filter(({ stack }) =>
    String(stack).includes('kid is "a-key-of-a-stranger", should be that of'),
  );
  expect(causes).not.toEqual([]);
  const outages = service.log.filter(({ message }) => String(message).startsWith('Access tokens can'));
  expect(outages).toMatchObject([{ level: 'warn' }, { level: 'info' }]);
  const everything = [service.output, ...shown].join('\n');
  // Or nothing would be found for another reason.
  for (const text of ['plant-store-tokens', 'dist/cli.js serve']) expect(everything).toContain(text);
  const partsOf = (token: string): string[] => token.split('.').map((part) => part.slice(0, 24));
  const secrets = tokens
    .filter((token) => token !== unknown)
    .flatMap((token) => [...partsOf(token), ...digestForms(token)]);
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
});
