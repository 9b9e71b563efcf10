import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeToken } from '../../src/auth/token-format.js';
import { expectRefusal } from '../support/http/refusal.js';
import { TOKEN } from '../support/http/request.js';
import { endTokenSessions, NO_PLANT, StoreInstances } from '../support/service/store-instances.js';
import { expectWithin } from '../support/stopwatch.js';
import { bearer, type StoredToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

/** What is promised for a change to take effect on every instance. */
const PROMISED_MS = 2000;
const MINUTE_MS = 60_000;

describe('Issued access tokens', () => {
  let instances: StoreInstances;

  beforeAll(async () => {
    instances = await StoreInstances.start();
  });
  afterAll(() => instances.stop());

  async function expectBoth(headers: StoredToken['headers'], error: number): Promise<void> {
    expect(await instances.verdicts(headers)).toEqual([error, error]);
  }

  async function expectSoon(headers: StoredToken['headers'], error: number): Promise<void> {
    const isSo = async (): Promise<boolean> =>
      (await instances.verdicts(headers)).every((verdict) => verdict === error);
    await expectWithin(PROMISED_MS, isSo);
    await expectBoth(headers, error);
  }

  it('should cost no connection before one comes', async () => {
    const { token } = await instances.issue();
    const strangers = [
      TOKEN,
      `${TOKEN}x`,
      token.slice(0, -1),
      `${token.slice(0, -1)}-`,
      'eyJhbGciOiJub25lIn0.e30.',
      'x',
    ];
    for (const stranger of strangers) await instances.verdicts(bearer(stranger));
    expect(await instances.tokenSessions()).toEqual([]);

    await instances.verdicts(bearer(token));
    expect(await instances.tokenSessions()).toHaveLength(2);
  });

  it(
    'should have their last use written down, and be used as long as another session has locked one',
    async () => {
      const { headers, id } = await instances.issue();
      const sql = 'SELECT last_used_at IS NOT NULL AS used FROM access_tokens WHERE id = $1';
      const isUsed = async (): Promise<boolean> =>
        (await instances.database.query<{ used: boolean }>(sql, [id]))[0]?.used === true;
      await using hold = await instances.hold(`UPDATE access_tokens SET name = 'held' WHERE id = ${id}`);
      await expectBoth(headers, 40003);
      await hold.release();
      // Once a minute.
      await until(async () => {
        await expectBoth(headers, 40003);
        return isUsed();
      }, 2 * MINUTE_MS);
    },
    3 * MINUTE_MS,
  );

  it('should be refused with the reason if they have a typing error', async () => {
    const { token } = await instances.issue();
    const response = await instances.stores[0].post(NO_PLANT, bearer(`${token.slice(0, -1)}-`));
    expect(expectRefusal(response, 40101, 'contract')).toContain('it has a typing error');
  });

  it('should be right on every instance, from the moment that they are there', async () => {
    const { headers } = await instances.issue();
    const [one, other] = instances.stores;

    expect(await one.post('{"id":1,"name":"Rose"}', headers)).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    expect(await other.post('{"id":2,"name":"Lily"}', headers)).toMatchObject({ status: 200, body: '{"name":"Lily"}' });
  });

  it('should be right soon although somebody tried them before they were there', async () => {
    const token = makeToken();
    await expectBoth(bearer(token), 40101);
    await instances.issue({ token });
    await expectSoon(bearer(token), 40003);
  });

  it('should be valid in addition to static ones', async () => {
    const { headers } = await instances.issue();
    await expectBoth(headers, 40003);
    expect(await instances.verdicts({})).toEqual([40003, 40003]);
  });

  it('should be refused without the scope, and not any more once they have it', async () => {
    const { headers, id } = await instances.issue({ scopes: ['plants:read'] });
    const [one] = instances.stores;
    const response = await one.post(NO_PLANT, headers);
    expect(expectRefusal(response, 40300, 'contract')).toMatch('plants:create');
    expect(response.headers['www-authenticate']).toBe(
      'Bearer realm="plants", error="insufficient_scope", scope="plants:create"',
    );

    await instances.database.query(`UPDATE access_tokens SET scopes = '{plants:create}' WHERE id = $1`, [id]);

    await expectSoon(headers, 40003);
  });

  it.each([
    ['has no scopes', "'{}'"],
    ['has null for scopes', 'NULL'],
  ])('should be refused for the scope if one %s', async (_, scopes) => {
    const { headers, id } = await instances.issue();
    await instances.database.query(`UPDATE access_tokens SET scopes = ${scopes} WHERE id = $1`, [id]);
    await expectBoth(headers, 40300);
  });

  it('should have any name, SQL or not', async () => {
    const name = `Robert'); DROP TABLE access_tokens;--`;
    const { headers, id } = await instances.issue({ name });
    await expectBoth(headers, 40003);
    expect(await instances.database.query('SELECT name FROM access_tokens WHERE id = $1', [id])).toEqual([{ name }]);
  });

  describe('that change', () => {
    let token: StoredToken;

    const issue = async (): Promise<void> => {
      token = await instances.issue();
      await expectBoth(token.headers, 40003);
    };
    const change = (sql: string): Promise<unknown> => instances.database.query(sql, [token.id]);
    const revoke = (): Promise<unknown> => change('UPDATE access_tokens SET revoked_at = now() WHERE id = $1');

    it.each([
      ['revoked', 'UPDATE access_tokens SET revoked_at = now() WHERE id = $1'],
      ['revoked for later', `UPDATE access_tokens SET revoked_at = now() + interval '1 day' WHERE id = $1`],
      ['expired', `UPDATE access_tokens SET expires_at = now() - interval '1 second' WHERE id = $1`],
      ['expired since ever', `UPDATE access_tokens SET expires_at = '-infinity' WHERE id = $1`],
      ['deleted', 'DELETE FROM access_tokens WHERE id = $1'],
      ['another by its number', `UPDATE access_tokens SET digest = sha256('another') WHERE id = $1`],
    ])('should be refused on every instance: the token is %s', async (_, sql) => {
      await issue();
      await change(sql);
      await expectSoon(token.headers, 40101);
    });

    it('should be refused if the sessions for them were ended', async () => {
      await issue();
      await endTokenSessions(instances.database);
      await revoke();
      await expectSoon(token.headers, 40101);
    });

    it('should be valid again as soon', async () => {
      await issue();
      await revoke();
      await expectSoon(token.headers, 40101);
      await change('UPDATE access_tokens SET revoked_at = NULL WHERE id = $1');
      await expectSoon(token.headers, 40003);
    });

    it('should leave others alone', async () => {
      await issue();
      const other = await instances.issue({ name: 'other' });
      await expectBoth(other.headers, 40003);
      await revoke();
      await expectSoon(token.headers, 40101);
      await expectBoth(other.headers, 40003);
    });

    it('should let the old and the new token of a rotation in, until the old one expires', async () => {
      await issue();
      await change(`UPDATE access_tokens SET expires_at = now() + interval '2 seconds' WHERE id = $1`);
      const successor = await instances.issue();
      await expectBoth(token.headers, 40003);
      await expectBoth(successor.headers, 40003);

      await until(async () => (await instances.verdicts(token.headers)).every((verdict) => verdict === 40101));

      const [row] = await instances.database.query<{ late: number }>(
        'SELECT extract(epoch FROM now() - expires_at)::float8 AS late FROM access_tokens WHERE id = $1',
        [token.id],
      );
      // A moment early is on the safe side: the way to the database and back.
      expect(row?.late).toBeGreaterThan(-1);
      expect(row?.late).toBeLessThan(2);
      await expectBoth(successor.headers, 40003);
    });
  });

  describe('that expire', () => {
    it.each([['1 hour'], ['100000 years'], ['infinity']])('should be right before, in %s', async (expires) => {
      const { headers } = await instances.issue({ expires });
      await expectBoth(headers, 40003);
      // From the database, and then from memory.
      await expectBoth(headers, 40003);
    });

    it.each([['-1 second'], ['-4000 years']])('should be wrong after, since %s', async (expires) => {
      const { headers } = await instances.issue({ expires });
      await expectBoth(headers, 40101);
    });

    it('should be right again within 2 s if they are given more time', async () => {
      const { headers, id } = await instances.issue({ expires: '-1 second' });
      await expectBoth(headers, 40101);
      await instances.database.query('UPDATE access_tokens SET expires_at = NULL WHERE id = $1', [id]);
      await expectSoon(headers, 40003);
    });
  });

  // The last test: it stops the instances.
  it('should have their last use written down at the end, if there was no time before', async () => {
    const { headers, id } = await instances.issue();
    const [one] = instances.stores;
    await one.post(NO_PLANT, headers);
    const { database } = instances;
    await instances.stopStores();
    expect(
      await database.query('SELECT last_used_at IS NOT NULL AS used FROM access_tokens WHERE id = $1', [id]),
    ).toEqual([{ used: true }]);
    expect(await instances.tokenSessions()).toEqual([]);
  });
});
