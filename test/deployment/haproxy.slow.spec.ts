import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { accepts, freePort } from '../support/http/free-port.js';
import { Load } from '../support/http/load.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { createTogether, requestHead, TOKEN } from '../support/http/request.js';
import { describeWith } from '../support/jest/suite.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { connectTo, startStore, type Store } from '../support/service/store.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const EXECUTABLE = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy', '/usr/bin/haproxy'].find(existsSync);
const MISSING = 'there is no HAProxy in the usual places. Install it (on Debian: apt-get install haproxy).';
const ORIGIN = 'https://garden.example';
const LIMIT = 5;
const RACES = 50;
const CLIENTS = 32;
const SOME_PLANTS = 300;

/** Always on the same ports, as a proxy has to know it. */
interface Instance extends Pick<Store, 'port' | 'managementPort'> {
  service?: PlantStoreProcess;
}

describeWith(EXECUTABLE === undefined ? MISSING : undefined, 'deploy/haproxy/haproxy.cfg', () => {
  let port: number;
  let proxy: ChildProcess;

  /** Starts it in front of up to three instances. */
  async function start(instances: readonly Instance[], variables: Record<string, string> = {}): Promise<void> {
    port = await freePort();
    const env: Record<string, string> = { ...variables, LISTEN: `127.0.0.1:${port}` };
    for (const [i, instance] of instances.entries()) {
      env[`PLANT_STORE_${'ABC'.charAt(i)}`] = `127.0.0.1:${instance.port}`;
      env[`READINESS_${'ABC'.charAt(i)}`] = `127.0.0.1:${instance.managementPort}`;
    }
    proxy = spawn(EXECUTABLE ?? '', ['-db', '-f', 'deploy/haproxy/haproxy.cfg'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await until(() => accepts(port));
  }

  afterEach(async () => {
    if (proxy.exitCode !== null) return;
    const ended = once(proxy, 'exit');
    proxy.kill('SIGKILL');
    await ended;
  });

  describe('in front of one instance', () => {
    let store: Store;

    beforeAll(async () => {
      store = await startStore();
    });
    afterAll(() => store.stop());

    const create = (headers: Record<string, string> = {}): Promise<RawResponse> =>
      connectTo(port, '').post(`{"id":${randomInt(2 ** 40)},"name":"Rose","tag":"shrub"}`, headers);

    /** An answer of HAProxy itself, in the form of the service. */
    function expectOwn(response: RawResponse, error: keyof typeof ERROR_CATALOGUE, headers = {}): void {
      const usual = { 'content-type': 'application/json', 'cache-control': 'no-store' };
      const expected = { ...usual, 'x-content-type-options': 'nosniff', ...headers };
      expect(response).toMatchObject({ status: 400, headers: expected });
      expect(JSON.parse(response.body)).toEqual({ error, message: expect.any(String) });
      expect(ERROR_CATALOGUE).toHaveProperty(String(error));
    }
    const expectLimited = (response: RawResponse, headers = {}): void => {
      expectOwn(response, 50301, { 'retry-after': '10', ...headers });
      expect(response.body).toContain('Nothing was written');
    };

    it('should hand a create on as it is, limit the requests with a token, and let another token pass', async () => {
      await start([store, store], { TOKEN_LIMIT: String(LIMIT), ADDRESS_LIMIT: '100', ORIGINS: ORIGIN });
      for (let sent = 0; sent < LIMIT; sent++) {
        const response = await create({ 'X-Request-Id': 'of-the-client' });
        const headers = { 'content-type': 'application/json', 'x-request-id': 'of-the-client' };
        expect(response).toMatchObject({ status: 200, headers, body: '{"name":"Rose","tag":"shrub"}' });
        expect(response.headers).not.toHaveProperty('access-control-allow-origin');
      }
      expectLimited(await create());
      for (const Authorization of [`bearer ${TOKEN}`, `Bearer  ${TOKEN}`])
        expectLimited(await create({ Authorization }));
      const { token } = await issueToken(store.database);
      expect(await create(bearer(token))).toMatchObject({ status: 200 });
      expectLimited(await create());
    });

    it('should limit the requests of an address, with whatever token', async () => {
      await start([store, store], { ADDRESS_LIMIT: String(LIMIT) });
      for (let sent = 0; sent < LIMIT; sent++)
        expect((await create(bearer(`a-wrong-token-of-many-${sent}`))).body).toContain('40101');
      expectLimited(await create());
    });

    it('should hand on a failure with the status that the service has given it', async () => {
      const semantic = await startStore({ ERROR_STATUS: 'semantic' });
      await start([semantic, semantic]);
      expect(await create(bearer('a-wrong-token-012345'))).toMatchObject({ status: 401 });
      await semantic.stop();
    });

    it('should hand nothing on to an instance that is not ready', async () => {
      await start([{ port: store.port, managementPort: await freePort() }]);
      await until(async () => (await create()).body.includes('50300'));
    });

    it('should answer preflights of the origins that it knows, and let them read each answer', async () => {
      await start([store, store], { ORIGINS: `https://other.example ${ORIGIN}`, TOKEN_LIMIT: '1' });
      const preflight = (Origin: string): Promise<RawResponse> => {
        const headers = { Origin, Authorization: undefined, 'Access-Control-Request-Method': 'POST' };
        return connectTo(port, '').raw(requestHead('OPTIONS /plants HTTP/1.1', headers));
      };
      const allowed = {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
      };
      expect(await preflight(ORIGIN)).toMatchObject({ status: 204, headers: allowed });
      const stranger = await preflight('https://stranger.example');
      expect(stranger.headers).not.toHaveProperty('access-control-allow-origin');
      expect(stranger.status).toBe(400);

      const readable = {
        vary: expect.stringContaining('Origin') as unknown,
        'access-control-allow-origin': ORIGIN,
        'access-control-expose-headers': 'Allow, Retry-After, WWW-Authenticate, X-Request-Id',
      };
      expect(await create({ Origin: ORIGIN })).toMatchObject({ status: 200, headers: readable });
      expectLimited(await create({ Origin: ORIGIN }), readable);
      expect((await create(bearer('a-wrong-token-012345'))).headers).not.toHaveProperty('access-control-allow-origin');
    });

    it('should say what is known of a create that no instance took, and of one that an instance did not answer', async () => {
      const broken = { port: await freePort(), managementPort: store.managementPort };
      await start([broken, broken]);
      const notTaken = await create();
      expectOwn(notTaken, 50300, { 'retry-after': '1', connection: 'close' });
      expect(notTaken.body).toContain('Nothing was written');

      const instance = createServer((socket) => socket.once('data', () => socket.destroy()));
      await once(instance.listen(broken.port, '127.0.0.1'), 'listening');
      const unknown = await create();
      expectOwn(unknown, 50400, { connection: 'close' });
      expect(unknown.body).toContain('is unknown');
      instance.close();
    });

    it('should terminate TLS', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'plant-store-haproxy-'));
      const inShell = async (script: string): Promise<string> =>
        (await promisify(execFile)('sh', ['-euc', script], { cwd: folder })).stdout;
      const subject = '-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';
      await inShell(
        `openssl req -x509 -newkey rsa:2048 -nodes -keyout both.pem -out own.pem -days 1 ${subject} && cat own.pem >>both.pem`,
      );
      await start([store, store], { CERTIFICATE: join(folder, 'both.pem') });
      const headers = `-H 'Authorization: Bearer ${TOKEN}' -H 'Content-Type: application/json'`;
      const curl = `curl -s --cacert own.pem ${headers} -d '{"id":-1,"name":"Rose"}' https://127.0.0.1:${port}/plants`;
      expect(await inShell(curl)).toBe('{"name":"Rose"}');
      await rm(folder, { recursive: true });
    });
  });

  describe('in front of three instances', () => {
    const instances: Instance[] = [];
    let database: TestDatabase;

    const serve = async (instance: Instance): Promise<void> => {
      const ports = { PORT: String(instance.port), MANAGEMENT_PORT: String(instance.managementPort) };
      instance.service = await PlantStoreProcess.serve(database.url, { ...ports, DRAIN_DELAY: '2000' });
    };

    beforeAll(async () => {
      database = await createTestDatabase();
      while (instances.length < 3) instances.push({ port: await freePort(), managementPort: await freePort() });
      await Promise.all(instances.map(serve));
    });
    beforeEach(() => start(instances));
    afterEach(() => database.query('TRUNCATE plants'));
    afterAll(async () => {
      for (const { service } of instances) await service?.[Symbol.asyncDispose]();
      await database.drop();
    });

    /** How many plants each has created since it started. */
    const created = (): Promise<number[]> =>
      Promise.all(
        instances.map(async ({ managementPort }) => {
          const metrics = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
          return Number(/^plant_store_plants_created_total (\d+)$/m.exec(metrics)?.[1]);
        }),
      );
    const allCreate = async (): Promise<void> => {
      const before = await created();
      await until(async () => (await created()).every((count, i) => count >= Number(before[i]) + SOME_PLANTS));
    };

    it('should create one plant in each race for an id', async () => {
      const winners: unknown[] = [];
      for (let id = 0; id < RACES; id++) {
        const racers = [1, 2, 3, 4, 5, 6].map((racer) => ({ body: `{"id":${id},"name":"racer ${racer}"}` }));
        const bodies = (await createTogether(port, racers)).map((answer) => answer?.body ?? '');
        const [winner = '', ...others] = bodies.filter((body) => !body.includes('"error":40901'));
        expect(others).toEqual([]);
        winners.push({ id: String(id), ...(JSON.parse(winner) as object) });
      }
      expect(await database.query('SELECT id, name FROM plants ORDER BY plants.id')).toEqual(winners);
      expect(Math.min(...(await created()))).toBeGreaterThan(0);
    });

    it('should lose nothing that was acknowledged when one is killed under load', async () => {
      const [killed] = instances as [Instance];
      await using load = new Load(port, CLIENTS);
      await allCreate();
      const before = load.created.length;
      await killed.service?.[Symbol.asyncDispose]();
      await until(() => load.created.length > before + 3 * SOME_PLANTS);
      await serve(killed);
      await allCreate();
      await load.stop();
      expect(await load.compareWith(database)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
      // Only what was in flight on it: no other request fails, and none that was not sent.
      expect(load.failures.filter((outcome) => outcome !== 'no answer' && outcome !== 50400)).toEqual([]);
      expect(load.failures.length).toBeLessThanOrEqual(CLIENTS);
    });

    it('should fail no request while each is replaced in turn', async () => {
      await using load = new Load(port, CLIENTS);
      await allCreate();
      for (const instance of instances) {
        instance.service?.signal('SIGTERM');
        expect(await instance.service?.ended).toBe(0);
        await serve(instance);
        await allCreate();
      }
      await load.stop();
      expect(load.failures).toEqual([]);
      expect(await load.compareWith(database)).toMatchObject({ lost: 0 });
    });
  });
});
