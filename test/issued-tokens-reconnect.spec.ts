import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bearer, issueToken, type StoredToken } from './support/issued-token.js';
import { ProxiedStore } from './support/proxied-store.js';
import { errorOf, NO_PLANT } from './support/store-instances.js';
import { until } from './support/until.js';

/** Far longer than a revocation may take to count. */
const STORAGE_TIMEOUT = 60_000;

describe('Issued access tokens whose connection has to be made anew', () => {
  let store: ProxiedStore;
  let known: StoredToken;

  beforeEach(async () => {
    store = await ProxiedStore.start({ STORAGE_TIMEOUT: String(STORAGE_TIMEOUT), WRONG_TOKEN_LIMIT: '0' });
    known = await issueToken(store.database);
    expect(await verdict()).toBe(40003);
  });
  afterEach(() => store.stop());

  const verdict = async (): Promise<number> => errorOf(await store.sendBody(NO_PLANT, bearer(known.token)));

  it('should be wrong soon after they were revoked, where the next connection hangs as well', async () => {
    store.proxy.freezeOpen(1);
    await store.database.query('UPDATE access_tokens SET revoked_at = now()');
    await until(async () => (await verdict()) === 40101);
  });
});
