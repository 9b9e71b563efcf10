import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TableLock } from '../support/database/test-database.js';
import { expectRefusal, postHead, RawConnection, type RequestHeaders } from '../support/http/request.js';
import { startStore, type Store } from '../support/service/store.js';

const REQUEST_TIMEOUT = 500;
/** One more ends the connection. */
const MOST_OPEN = 32;

const create = (id: number, headers?: RequestHeaders): string => {
  const body = `{"id":${id},"name":"Rose ${id}"}`;
  return postHead('', body, headers) + body;
};
const creates = (count: number, headers?: RequestHeaders): string =>
  Array.from({ length: count }, (_, id) => create(id, headers)).join('');

describe('A connection with requests that have no answer yet', () => {
  let store: Store;
  let server: Server;
  let connection: RawConnection;

  beforeAll(async () => {
    store = await startStore({ REQUEST_TIMEOUT: String(REQUEST_TIMEOUT), STORAGE_TIMEOUT: '30000' }, (app) => {
      server = app.getHttpServer() as Server;
    });
  });
  afterEach(async () => {
    connection.close();
    await store.database.query('DELETE FROM plants');
  });
  afterAll(() => store.stop());

  async function open(...sent: string[]): Promise<void> {
    connection = await RawConnection.open(store.port);
    connection.send(...sent);
  }
  const expectCreated = async (id: number): Promise<void> => {
    expect(await connection.response()).toMatchObject({ status: 200, body: `{"name":"Rose ${id}"}` });
  };
  /** Answers of this number, in the metrics. */
  async function counted(error: number): Promise<number> {
    const page = await (await fetch(`http://127.0.0.1:${store.managementPort}/metrics`)).text();
    return Number(new RegExp(`^plant_store_requests_total\\{error="${error}"\\} (\\d+)$`, 'm').exec(page)?.[1]);
  }

  it(`should answer up to ${MOST_OPEN} at a time; one more closes this connection, and no other`, async () => {
    await using lock = await TableLock.take(store.database);
    await open(creates(MOST_OPEN + 1));
    expect(await connection.response()).toBeUndefined();
    await open(creates(MOST_OPEN));
    await lock.awaited();
    await lock.release();
    for (let id = 0; id < 3 * MOST_OPEN; id += 1) {
      expect((await connection.response())?.status).toBeDefined();
      connection.send(create(id + MOST_OPEN));
    }
  });

  // It fails too if Node no longer asks a request whether it is an upgrade, or keeps the parser of one that is.
  it('should be cut off if more come in one go, though each is refused at once', async () => {
    const before = await counted(40101);
    await open(creates(5000, { Authorization: 'Bearer wrong' }));
    await connection.closed();
    expect((await counted(40101)) - before).toBeLessThanOrEqual(MOST_OPEN);
  });

  it('should answer a create and what is no request behind it, once each', async () => {
    const before = await Promise.all([0, 40010].map(counted));
    await using lock = await TableLock.take(store.database);
    await open();
    // Node reports each packet.
    for (const packet of [create(1), ...'no HTTP\r\n'.split('')])
      await new Promise((resolve) => connection.socket.write(packet, resolve));
    await lock.awaited();
    await lock.release();
    await expectCreated(1);
    expectRefusal(await connection.response(), 40010, 'contract');
    expect(await connection.response()).toBeUndefined();
    expect(await Promise.all([0, 40010].map(counted))).toEqual(before.map((count) => count + 1));
  });

  it('should be kept though an answer takes longer than REQUEST_TIMEOUT', async () => {
    await using lock = await TableLock.take(store.database);
    await open(create(1));
    await lock.awaited();
    await sleep(3 * REQUEST_TIMEOUT);
    await lock.release();
    await expectCreated(1);
  });

  /** Resolves when the service has closed its side of the next connection. */
  async function nextIsCutOff(): Promise<void> {
    const [socket] = (await once(server, 'connection')) as [Socket];
    if (!socket.closed) await once(socket, 'close');
  }

  it('should be cut off if the client does not read its answers', async () => {
    const isCutOff = nextIsCutOff();
    await open();
    connection.socket.pause();
    connection.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20));
    await isCutOff;
  });

  it('should be cut off if the client was refused and does not close its half', async () => {
    const isCutOff = nextIsCutOff();
    const client = connect({ port: store.port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
    client.resume().write('no HTTP\r\n\r\n');
    await once(client, 'end');
    await isCutOff;
    client.destroy();
  });
});
