import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeToken } from '../src/auth/issued/token-form.js';
import { bearer, issueToken, type StoredToken } from './support/issued-token.js';
import { ProxiedStore } from './support/proxied-store.js';
import { errorOf, NO_PLANT } from './support/store-instances.js';
import { until } from './support/until.js';

/** Milliseconds each way: there and back, that is longer than a statement of the watch has at first. */
const DELAY_MS = 550;

describe('Issued access tokens where their database answers slowly', () => {
  let store: ProxiedStore;
  let known: StoredToken;

  beforeEach(async () => {
    store = await ProxiedStore.start({ WRONG_TOKEN_LIMIT: '0' });
    known = await issueToken(store.database);
    expect(await verdict(known.token)).toBe(40003);
    store.proxy.delay = DELAY_MS;
  });
  afterEach(() => store.stop());

  const verdict = async (token: string): Promise<number> => errorOf(await store.sendBody(NO_PLANT, bearer(token)));

  it('should be wrong as soon as it answers, where they were revoked', async () => {
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    await until(async () => (await verdict(known.token)) === 40101);
  });

  it('should be looked up, on one connection from then on, and be wrong a few answers after they were revoked', async () => {
    const first = await issueToken(store.database, { name: 'first' });
    await until(async () => (await verdict(first.token)) === 40003);

    const listening = store.proxy.counting('LISTEN');
    for (const name of ['second', 'third']) {
      expect(await verdict((await issueToken(store.database, { name })).token)).toBe(40003);
      expect(await verdict(makeToken())).toBe(40101);
    }
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    const start = performance.now();
    await until(async () => (await verdict(first.token)) === 40101);

    // The answer under way, that to a look-up or a record of uses, and that to the check.
    expect(performance.now() - start).toBeLessThan(5 * 2 * DELAY_MS);
    expect(listening.count).toBe(0);
  });
});
