import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeToken } from '../src/auth/issued/token-form.js';
import { bearer, issueToken } from './support/issued-token.js';
import { PlantStoreProcess } from './support/process.js';
import { postHead } from './support/request.js';
import { TableLock } from './support/table-lock.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const ADDRESS = '127.0.0.2';
const CONNECTIONS = 30;
/** On each connection; together more than may wait for the database. */
const GUESSES = 500;

describe('Thousands of made-up access tokens from one address', () => {
  let database: TestDatabase;
  let service: PlantStoreProcess;

  beforeEach(async () => {
    database = await createTestDatabase();
    service = await PlantStoreProcess.serve(database.url);
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  });

  function guess(): Socket {
    const socket = connect({ port: service.port, host: '127.0.0.1', localAddress: ADDRESS });
    socket.write(Array.from({ length: GUESSES }, () => postHead('', '', bearer(makeToken()))).join(''));
    return socket.on('error', () => undefined).resume();
  }

  it('should let a right one of another address in, and not fill the log', async () => {
    const { headers } = await issueToken(database, { name: 'right' });
    const start = performance.now();
    const lock = await TableLock.take(database, 'access_tokens');
    const sockets = Array.from({ length: CONNECTIONS }, guess);
    try {
      await service.printed(/TooManyLookupsError/);
      const right = service.post('{"id":1,"name":"Rose"}', headers);
      await lock.release();
      expect(await right).toMatchObject({ status: 200 });
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    const seconds = (performance.now() - start) / 1000;
    expect(service.log.length).toBeLessThan(10 + 5 * seconds);
  });
});
