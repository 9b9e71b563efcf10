import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { makeToken } from '../../src/auth/tokens/token.js';
import { TableLock } from '../support/database/table-lock.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { ProxiedStore } from '../support/service/proxied-store.js';
import { errorOf, NO_PLANT } from '../support/service/store-instances.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';

const GUESSES = 3000;
const CLIENTS = 30;
/** In look-ups and confirmations of tokens, and in no other statement. */
const LOOKUP = 'WHERE digest = ANY';
const CONFIRMATIONS_A_SECOND = 2;
const LOOKUPS_A_SECOND = 50;

describe('Guessed access tokens', () => {
  let store: ProxiedStore;

  beforeAll(async () => {
    store = await ProxiedStore.start();
  });
  afterAll(() => store.stop());

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
    expect(lookups.count).toBeLessThanOrEqual(2 + (LOOKUPS_A_SECOND + CONFIRMATIONS_A_SECOND) * seconds);
    expect(lookups.count).toBeLessThan(GUESSES / 5);
  });

  it('should cost a few queries if they come all at once', async () => {
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
});

describe('Thousands of made-up access tokens from one address', () => {
  const ADDRESS = '127.0.0.2';
  /** On each of as many connections; together more than may wait for the database. */
  const GUESSES_EACH = 500;
  let database: TestDatabase;
  let service: PlantStoreProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    service = await PlantStoreProcess.serve(database.url);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  });

  function flood(): Socket {
    const socket = connect({ port: service.port, host: '127.0.0.1', localAddress: ADDRESS });
    socket.write(Array.from({ length: GUESSES_EACH }, () => postHead('', '', bearer(makeToken()))).join(''));
    return socket.on('error', () => undefined).resume();
  }

  it('should not keep a known one out, even while no token can be looked up, and not fill the log', async () => {
    const { headers } = await issueToken(database, { name: 'right' });
    expect(errorOf(await service.post(NO_PLANT, headers))).toBe(40003);
    const start = performance.now();
    const lock = await TableLock.take(database, 'access_tokens');
    const sockets = Array.from({ length: CLIENTS }, flood);
    try {
      await service.printed(/Access tokens cannot be looked up/);
      expect(await service.post('{"id":1,"name":"Rose"}', headers)).toMatchObject({ status: 200 });
      await lock.release();
      expect(await service.post('{"id":2,"name":"Rose"}', headers)).toMatchObject({ status: 200 });
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    const seconds = (performance.now() - start) / 1000;
    const kindOf = ({ context, error }: Record<string, unknown>): string => `${String(context)} ${String(error)}`;
    const kinds = new Set(service.log.map(kindOf));
    expect([...kinds]).toContain('Request 40003');
    expect(kinds.size).toBeLessThan(10);
    for (const kind of kinds) {
      expect(service.log.filter((entry) => kindOf(entry) === kind).length).toBeLessThan(10 + 11 * (seconds + 1));
    }
  });
});
