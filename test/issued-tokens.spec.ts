import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeToken } from '../src/auth/issued/token-form.js';
import { bearer } from './support/issued-token.js';
import { expectRefusal } from './support/refusal.js';
import { TOKEN } from './support/request.js';
import { errorOf, NO_PLANT, StoreInstances } from './support/store-instances.js';
import { until } from './support/until.js';

describe('Issued access tokens', () => {
  let instances: StoreInstances;

  beforeEach(async () => {
    instances = await StoreInstances.start();
  });
  afterEach(() => instances.stop());

  it('should be right on every instance, from the moment that they are there', async () => {
    const { headers } = await instances.issue();
    const [one, other] = instances.stores;

    expect(await one.post('{"id":1,"name":"Rose"}', headers)).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
    expect(await other.post('{"id":2,"name":"Lily"}', headers)).toMatchObject({ status: 200, body: '{"name":"Lily"}' });
  });

  it('should be right although somebody tried them before they were there', async () => {
    const token = makeToken();
    expect(await instances.verdicts(bearer(token))).toEqual([40101, 40101]);

    await instances.issue({ token });

    await until(async () => (await instances.verdicts(bearer(token))).every((error) => error === 40003));
  });

  it('should be beside static ones', async () => {
    const { headers } = await instances.issue();
    expect(await instances.verdicts(headers)).toEqual([40003, 40003]);
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

    await until(async () => (await instances.verdicts(headers)).every((error) => error === 40003));
  });

  it.each([
    ['has no scopes', "'{}'"],
    ['has null for scopes', 'NULL'],
  ])('should be refused for the scope where one %s', async (_, scopes) => {
    const { headers, id } = await instances.issue();
    await instances.database.query(`UPDATE access_tokens SET scopes = ${scopes} WHERE id = $1`, [id]);
    expect(await instances.verdicts(headers)).toEqual([40300, 40300]);
  });

  it('should be whoever their name says, SQL or not', async () => {
    const name = `Robert'); DROP TABLE access_tokens;--`;
    const { headers } = await instances.issue({ name });
    expect(await instances.verdicts(headers)).toEqual([40003, 40003]);
    expect(await instances.database.query('SELECT name FROM access_tokens')).toEqual([{ name }]);
  });

  it.each([
    ['one instance', 1],
    ['both', 2],
  ])('should have their last use written down, where they were used at %s', async (_, count) => {
    const { headers, id } = await instances.issue();
    const unused = await instances.issue();
    const users = instances.stores.slice(0, count);
    const answers = await Promise.all(users.map((store) => store.post(NO_PLANT, headers)));
    expect(answers.map(errorOf)).toEqual(users.map(() => 40003));

    const lastUse = async (): Promise<unknown> =>
      (
        await instances.database.query<{ recent: boolean | null }>(
          `SELECT last_used_at BETWEEN now() - interval '1 minute' AND now() AS recent FROM access_tokens ORDER BY id`,
        )
      ).map(({ recent }) => recent);
    await until(async () => JSON.stringify(await lastUse()) === '[true,null]');
    expect(unused.id).toBeGreaterThan(id);
  });

  it('should have their last use written down at the end, where there was no time before', async () => {
    const { headers } = await instances.issue();
    const [one] = instances.stores;
    await one.post(NO_PLANT, headers);
    const { database } = instances;
    await instances.stopStores();
    expect(await database.query('SELECT last_used_at IS NOT NULL AS used FROM access_tokens')).toEqual([
      { used: true },
    ]);
    expect(await instances.listeners()).toEqual([]);
  });

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
    expect(await instances.listeners()).toEqual([]);

    await instances.verdicts(bearer(token));
    expect(await instances.listeners()).toHaveLength(2);
  });
});
