import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { MigrationError } from '../../src/database/migrations/migration-status.js';
import { Migrator } from '../../src/database/migrations/migrator.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { expectRefusal } from '../support/http/refusal.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { startStoreOn, type Store } from '../support/service/store.js';
import { Stopwatch } from '../support/stopwatch.js';
import { issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

/** Less than a silent host would take: the time limit of the database. */
const SOON_MS = 4000;
const REFUSAL = 'SFATAL\0VFATAL\0C53300\0Mtoo many clients\0\0';
const TOO_MANY_CLIENTS = `E\0\0\0${String.fromCharCode(REFUSAL.length + 4)}${REFUSAL}`;

describe('A database of several hosts', () => {
  let database: TestDatabase;
  let first: TcpProxy;
  let second: TcpProxy;
  let store: Store | undefined;

  beforeEach(async () => {
    database = await createTestDatabase();
    first = await TcpProxy.start(database.url);
    second = await TcpProxy.start(database.url);
  });
  afterEach(async () => {
    for (const proxy of [first, second]) proxy.restore();
    await store?.stop();
    store = undefined;
    await Promise.all([first.close(), second.close()]);
    await database.drop();
  });

  const urlOf = (hosts: string[], parameters = '?target_session_attrs=read-write'): string =>
    database.url.replace(/@[^/]*/, `@${hosts.join()}`).replace(/\?.*|$/, parameters);
  const hostOf = ({ url }: TcpProxy): string => new URL(url).host;
  const start = async (url: string): Promise<Store> =>
    (store = await startStoreOn({ ...database, url }, { ERROR_STATUS: 'semantic' }));
  const create = async (id: number, headers = {}) => store?.post(`{"id":${id},"name":"Rose"}`, headers);
  const readiness = async (): Promise<unknown> =>
    (await fetch(`http://127.0.0.1:${store?.managementPort}/readyz`)).json();

  it('should be used if only the last takes connections', async () => {
    const closed = `127.0.0.1:${await freePort()}`;
    await start(urlOf([closed, hostOf(second)]));
    expect(await create(1)).toMatchObject({ status: 200 });
  });

  it.each(['?target_session_attrs=read-write', ''])(
    'should not wait for one that is silent (%s)',
    async (parameters) => {
      first.freeze();
      using stopwatch = new Stopwatch();
      await start(urlOf([hostOf(first), hostOf(second)], parameters));
      expect(await create(1)).toMatchObject({ status: 200 });
      expect(stopwatch.elapsed).toBeLessThan(SOON_MS);
    },
  );

  it('should be used in their order', async () => {
    await start(urlOf([hostOf(first), hostOf(second)], ''));
    expect(await create(1)).toMatchObject({ status: 200 });
    await until(() => second.connections === 0);
    expect(first.connections).toBeGreaterThan(0);
  });

  it('should leave one that falls silent, with its idle connections and those that wait', async () => {
    await start(urlOf([hostOf(first), hostOf(second)]));
    const token = await issueToken(database);
    await Promise.all([1, 2, 3].map((id) => create(id, token.headers)));
    first.freeze();
    using stopwatch = new Stopwatch();
    const answers = await Promise.all([4, 5, 6].map((id) => create(id, token.headers)));
    expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 200]);
    expect(stopwatch.elapsed).toBeLessThan(SOON_MS);
  });

  const slowDown = async (): Promise<void> => {
    const statement = `CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$`;
    await database.query(statement);
    await database.query('CREATE TRIGGER nap BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION nap()');
  };

  it('should keep a statement that takes long', async () => {
    await start(urlOf([hostOf(second), hostOf(first)]));
    expect(await create(1)).toMatchObject({ status: 200 });
    await slowDown();
    const inserts = [first, second].map((proxy) => proxy.counting('INSERT INTO'));
    expect(await create(2)).toMatchObject({ status: 200 });
    expect(inserts.reduce((sum, { count }) => sum + count, 0)).toBeLessThan(2);
  });

  it('should keep a statement that takes long on a host that takes no more connections', async () => {
    let isFull = false;
    const busy = createServer((socket) => {
      const onward = isFull ? undefined : connect(Number(new URL(second.url).port), '127.0.0.1');
      socket.on('error', () => onward?.destroy());
      if (onward) socket.pipe(onward.on('error', () => socket.destroy())).pipe(socket);
      else socket.once('data', () => socket.end(TOO_MANY_CLIENTS));
    }).listen(0, '127.0.0.1');
    await once(busy, 'listening');
    try {
      await start(urlOf([`127.0.0.1:${(busy.address() as AddressInfo).port}`, hostOf(first)]));
      expect(await create(1)).toMatchObject({ status: 200 });
      await slowDown();
      isFull = true;
      const inserts = first.counting('INSERT INTO');
      expect(await create(2)).toMatchObject({ status: 200 });
      expect(inserts.count).toBe(0);
    } finally {
      busy.close();
    }
  });

  it('should answer that nothing was written while none can be reached, and go on afterwards', async () => {
    await start(urlOf([hostOf(first), hostOf(second)]));
    first.reset();
    second.reset();
    await until(() => first.connections + second.connections === 0);
    const answer = await create(1);
    expect(answer && expectRefusal(answer, 50300, 'semantic')).toMatch('Nothing was written');
    expect(await readiness()).toMatchObject({ reason: 'the database cannot be reached' });
    second.restore();
    await until(async () => (await create(1))?.status === 200);
  });

  it('should be left if it accepts no writes any more', async () => {
    await start(urlOf([hostOf(first)]));
    expect(await create(1)).toMatchObject({ status: 200 });
    const name = new URL(database.url).pathname.slice(1);
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plant-store'`;
    await database.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
    await database.query(end);
    await until(() => first.connections <= 1);
    const answer = await create(2);
    expect(answer && expectRefusal(answer, 50300, 'semantic')).toMatch('Nothing was written');
    await until(async () => JSON.stringify(await readiness()).includes('accepts no writes'));
    const failure = await new Migrator({ url: urlOf([hostOf(first)]) }).migrate().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MigrationError);
    expect((failure as Error).message).toMatch(
      new RegExp(`^cannot connect to database .*: ${hostOf(first)}: accepts no writes: it is read-only$`),
    );
  });
});
