import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TOKEN_CHANNEL } from '../src/auth/issued/token-channel.js';
import type { StoredToken } from './support/issued-token.js';
import { endListeners, StoreInstances } from './support/store-instances.js';
import { until } from './support/until.js';

/** What is promised for a change to take effect on every instance. */
const PROMISED_MS = 2000;

describe('A change of access tokens', () => {
  let instances: StoreInstances;
  let token: StoredToken;

  beforeAll(async () => {
    instances = await StoreInstances.start();
  });
  afterAll(() => instances.stop());
  beforeEach(async () => {
    token = await instances.issue();
    expect(await instances.verdicts(token.headers)).toEqual([40003, 40003]);
  });

  const change = (sql: string): Promise<unknown> => instances.database.query(sql, [token.id]);
  const revoke = (): Promise<unknown> => change('UPDATE access_tokens SET revoked_at = now() WHERE id = $1');

  async function expectSoon(error: number): Promise<void> {
    const start = performance.now();
    await until(async () => (await instances.verdicts(token.headers)).every((verdict) => verdict === error));
    expect(performance.now() - start).toBeLessThan(PROMISED_MS);
    expect(await instances.verdicts(token.headers)).toEqual([error, error]);
  }

  it.each([
    ['revoked', 'UPDATE access_tokens SET revoked_at = now() WHERE id = $1'],
    ['revoked for later', `UPDATE access_tokens SET revoked_at = now() + interval '1 day' WHERE id = $1`],
    ['expired', `UPDATE access_tokens SET expires_at = now() - interval '1 second' WHERE id = $1`],
    ['expired since ever', `UPDATE access_tokens SET expires_at = '-infinity' WHERE id = $1`],
    ['deleted', 'DELETE FROM access_tokens WHERE id = $1'],
    ['another by its number', `UPDATE access_tokens SET digest = sha256('another') WHERE id = $1`],
  ])('should take effect on every instance although nobody told of it: the token is %s', async (_, sql) => {
    await change(sql);
    await expectSoon(40101);
  });

  it('should take effect on every instance that is told of it', async () => {
    await revoke();
    await instances.database.query(`NOTIFY ${TOKEN_CHANNEL}`);
    await expectSoon(40101);
  });

  it('should take effect where the listening sessions were ended', async () => {
    await endListeners(instances.database);
    await revoke();
    await expectSoon(40101);
  });

  it('should take effect where somebody is changing the token, and has not said what', async () => {
    const other = await instances.issue({ name: 'other' });
    await instances.database.query(`UPDATE access_tokens SET last_used_at = NULL`);
    await using hold = await instances.hold(`UPDATE access_tokens SET name = 'held' WHERE id = ${other.id}`);
    expect(await instances.verdicts(other.headers)).toEqual([40003, 40003]);
    await revoke();
    await expectSoon(40101);
    await hold.release();
  });

  it('should be taken back as soon', async () => {
    await revoke();
    await expectSoon(40101);
    await change('UPDATE access_tokens SET revoked_at = NULL WHERE id = $1');
    await expectSoon(40003);
  });

  it('should leave others alone', async () => {
    const other = await instances.issue({ name: 'other' });
    expect(await instances.verdicts(other.headers)).toEqual([40003, 40003]);
    await revoke();
    await expectSoon(40101);
    expect(await instances.verdicts(other.headers)).toEqual([40003, 40003]);
  });

  it('should let the old and the new token of a rotation in, until the old one expires', async () => {
    await change(`UPDATE access_tokens SET expires_at = now() + interval '2 seconds' WHERE id = $1`);
    const successor = await instances.issue();
    expect(await instances.verdicts(token.headers)).toEqual([40003, 40003]);
    expect(await instances.verdicts(successor.headers)).toEqual([40003, 40003]);

    await until(async () => (await instances.verdicts(token.headers)).every((verdict) => verdict === 40101));

    const [row] = await instances.database.query<{ late: number }>(
      'SELECT extract(epoch FROM now() - expires_at)::float8 AS late FROM access_tokens WHERE id = $1',
      [token.id],
    );
    // A moment early is on the safe side: the way to the database and back.
    expect(row?.late).toBeGreaterThan(-1);
    expect(row?.late).toBeLessThan(2);
    expect(await instances.verdicts(successor.headers)).toEqual([40003, 40003]);
  });
});

describe('An access token that expires', () => {
  let instances: StoreInstances;

  beforeAll(async () => {
    instances = await StoreInstances.start();
  });
  afterAll(() => instances.stop());

  it.each([['1 hour'], ['100000 years'], ['infinity']])('should be right before, in %s', async (expires) => {
    const { headers } = await instances.issue({ expires });
    expect(await instances.verdicts(headers)).toEqual([40003, 40003]);
    // Each of the ways to ask for it: from the cache, too.
    expect(await instances.verdicts(headers)).toEqual([40003, 40003]);
  });

  it.each([['-1 second'], ['-4000 years']])('should be wrong after, since %s', async (expires) => {
    const { headers } = await instances.issue({ expires });
    expect(await instances.verdicts(headers)).toEqual([40101, 40101]);
  });

  it('should be right again within 2 s where it is given more time', async () => {
    const { headers, id } = await instances.issue({ expires: '-1 second' });
    expect(await instances.verdicts(headers)).toEqual([40101, 40101]);
    await instances.database.query('UPDATE access_tokens SET expires_at = NULL WHERE id = $1', [id]);
    const start = performance.now();
    await until(async () => (await instances.verdicts(headers)).every((verdict) => verdict === 40003));
    expect(performance.now() - start).toBeLessThan(PROMISED_MS);
  });
});
