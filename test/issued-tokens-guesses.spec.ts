import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeToken } from '../src/auth/issued/token-form.js';
import { bearer, issueToken } from './support/issued-token.js';
import { ProxiedStore } from './support/proxied-store.js';
import { RawConnection } from './support/raw-connection.js';
import { postHead } from './support/request.js';
import { errorOf, NO_PLANT } from './support/store-instances.js';

const GUESSES = 3000;
const CLIENTS = 30;
/** What a look-up has in it, and nothing else that is sent. */
const LOOKUP = 'WHERE digest = ANY';
const LOOKUPS_A_SECOND = 50;

describe('Guessed access tokens', () => {
  let store: ProxiedStore;

  beforeEach(async () => {
    store = await ProxiedStore.start({ WRONG_TOKEN_LIMIT: '0' });
  });
  afterEach(() => store.stop());

  const verdict = async (token: string): Promise<number> => errorOf(await store.sendBody(NO_PLANT, bearer(token)));

  /** Sends a request with each, on a connection, one after another. */
  async function guess(tokens: readonly string[]): Promise<number[]> {
    using connection = await RawConnection.open(store.port);
    const errors = [];
    for (const token of tokens) {
      connection.send(postHead('', NO_PLANT, bearer(token)), NO_PLANT);
      errors.push(errorOf(await connection.response()));
    }
    return errors;
  }

  it('should all be refused, for few queries, while right ones are let in', async () => {
    const known = await issueToken(store.database, { name: 'known' });
    expect(await verdict(known.token)).toBe(40003);
    const lookups = store.proxy.counting(LOOKUP);
    const start = performance.now();

    const guesses = Array.from({ length: CLIENTS }, () => Array.from({ length: GUESSES / CLIENTS }, makeToken));
    const attacks = Promise.all(guesses.map(guess));
    const others = await Promise.all([1, 2, 3].map((n) => issueToken(store.database, { name: `other-${n}` })));
    for (const { token } of others) expect(await verdict(token)).toBe(40003);
    expect(await verdict(known.token)).toBe(40003);

    expect(new Set((await attacks).flat())).toEqual(new Set([40101]));
    const seconds = (performance.now() - start) / 1000;
    expect(lookups.count).toBeGreaterThan(0);
    expect(lookups.count).toBeLessThanOrEqual(1 + LOOKUPS_A_SECOND * seconds);
    expect(lookups.count).toBeLessThan(GUESSES / 5);
  });

  it('should cost a few queries where they come all at once', async () => {
    const lookups = store.proxy.counting(LOOKUP);
    using connection = await RawConnection.open(store.port);
    const requests = Array.from({ length: GUESSES }, () => postHead('', NO_PLANT, bearer(makeToken())) + NO_PLANT);
    const connections = await Promise.all(requests.slice(1).map(() => RawConnection.open(store.port)));
    try {
      [connection, ...connections].forEach((each, index) => {
        each.send(requests[index] ?? '');
      });
      const answers = await Promise.all([connection, ...connections].map((each) => each.response()));
      expect(new Set(answers.map(errorOf))).toEqual(new Set([40101]));
    } finally {
      for (const each of connections) each.close();
    }
    expect(lookups.count).toBeGreaterThan(0);
    expect(lookups.count).toBeLessThan(GUESSES / 20);
  });

  it('should cost no query each where one is sent again and again', async () => {
    const lookups = store.proxy.counting(LOOKUP);
    const start = performance.now();
    const token = makeToken();
    expect(new Set(await guess(Array.from({ length: 500 }, () => token)))).toEqual(new Set([40101]));
    expect(lookups.count).toBeLessThanOrEqual(2 + (performance.now() - start) / 1000);
  });

  it('should cost nothing where they are malformed', async () => {
    const { token } = await issueToken(store.database);
    const connections = store.proxy.connections;
    const malformed = [
      token.slice(0, -1),
      `${token}0`,
      token.slice(0, -1) + (token.endsWith('0') ? '1' : '0'),
      token.toUpperCase(),
      `plant_${'0'.repeat(38)}`,
      `plant_${'a'.repeat(12_000)}`,
      'plant_',
    ];
    for (const each of malformed) expect(await verdict(each)).toBe(40101);
    expect(await verdict(`plant_'; DROP TABLE access_tokens; --`)).toBe(40102);
    expect(await verdict(`plant_${'a'.repeat(100_000)}`)).toBe(43100);
    expect(store.proxy.connections).toBe(connections);
    expect(await verdict(token)).toBe(40003);
  });
});
