import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeToken } from '../src/auth/issued/token-form.js';
import { bearer, issueToken, type StoredToken } from './support/issued-token.js';
import { ProxiedStore } from './support/proxied-store.js';
import type { RawResponse } from './support/raw-connection.js';
import { endListeners, errorOf, NO_PLANT } from './support/store-instances.js';
import { until } from './support/until.js';

const STORAGE_TIMEOUT = 1500;
const SLACK = 3 * STORAGE_TIMEOUT;

describe('Issued access tokens without their database', () => {
  let store: ProxiedStore;
  let known: StoredToken;

  beforeEach(async () => {
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT), WRONG_TOKEN_LIMIT: '0' });
    known = await issueToken(store.database);
    expect(await verdict(known.token)).toBe(40003);
  });
  afterEach(() => store.stop());

  const ask = (token: string): Promise<RawResponse> => store.sendBody(NO_PLANT, bearer(token));
  const verdict = async (token: string): Promise<number> => errorOf(await ask(token));

  async function expectUndecided(token: string): Promise<void> {
    const start = performance.now();
    const response = await ask(token);
    expect(performance.now() - start).toBeLessThan(STORAGE_TIMEOUT + SLACK);
    store.expectNothingWritten(response);
  }

  it.each([
    [
      'breaks every connection',
      (): void => {
        store.proxy.reset();
      },
    ],
    [
      'falls silent',
      (): void => {
        store.proxy.freeze();
      },
    ],
  ])('should be right where it %s, if they were before; nothing is said of others', async (_, fail) => {
    const unknown = await issueToken(store.database, { name: 'unknown' });
    fail();

    await expectUndecided(unknown.token);
    await expectUndecided(makeToken());
    expect(await verdict(known.token)).toBe(40003);
    store.expectNothingWritten(await store.create(1, known.headers));
    expect(await verdict(`${known.token.slice(0, -1)}_`)).toBe(40101);
    expect(await verdict(known.token.slice(0, -1))).toBe(40101);

    store.proxy.restore();
    await until(async () => (await verdict(unknown.token)) === 40003);
    expect(await verdict(makeToken())).toBe(40101);
  });

  it('should be looked up on another connection where theirs was ended', async () => {
    await endListeners(store.database);
    expect(await verdict(makeToken())).toBe(40101);
    await endListeners(store.database);
    expect(await verdict((await issueToken(store.database)).token)).toBe(40003);
  });

  it('should be wrong soon after it is back, where they were revoked meanwhile', async () => {
    store.proxy.reset();
    await expectUndecided(makeToken());
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    expect(await verdict(known.token)).toBe(40003);
    store.proxy.restore();
    await until(async () => (await verdict(known.token)) === 40101);
  });

  it('should be wrong soon where a connection that listens falls silent by itself, and another can be made', async () => {
    store.proxy.freezeOpen();
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    const start = performance.now();
    await until(async () => (await verdict(known.token)) === 40101);
    expect(performance.now() - start).toBeLessThan(2000);
  });

  it('should not be lost with their table', async () => {
    await store.database.query('ALTER TABLE access_tokens RENAME TO lost_tokens');
    await expectUndecided(makeToken());
    expect(await verdict(known.token)).toBe(40003);
    await store.database.query('ALTER TABLE lost_tokens RENAME TO access_tokens');
    expect(await verdict(makeToken())).toBe(40101);
  });
});

describe('Issued access tokens that nothing can be said of', () => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT), WRONG_TOKEN_LIMIT: '1' });
  });
  afterEach(() => store.stop());

  it('should not count as wrong ones', async () => {
    const ask = (token: string): Promise<RawResponse> => store.sendBody(NO_PLANT, bearer(token));
    const known = await issueToken(store.database);
    const guess = makeToken();
    store.proxy.reset();
    for (const token of [guess, guess, makeToken(), guess, makeToken()]) store.expectNothingWritten(await ask(token));

    store.proxy.restore();
    await until(async () => errorOf(await ask(known.token)) === 40003);
    // One may be, and the next is too many.
    expect([errorOf(await ask(guess)), errorOf(await ask(guess))]).toEqual([40101, 42900]);
  });
});
