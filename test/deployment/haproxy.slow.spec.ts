import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { ErrorNumber } from '../../src/errors/error-catalogue.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { ROOT } from '../support/documents/documents.js';
import { accepts, freePort } from '../support/http/free-port.js';
import { Load } from '../support/http/load.js';
import { connectTo, type RawResponse, TOKEN } from '../support/http/request.js';
import { describeWith, PlantStoreProcess } from '../support/service/process.js';
import { startStore, type Store } from '../support/service/store.js';
import { bearer, issueToken } from '../support/tokens/tokens.js';
import { until } from '../support/until.js';

const EXECUTABLE = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy', '/usr/bin/haproxy'].find(existsSync);
const MISSING = 'there is no HAProxy in the usual places. Install it (on Debian: apt-get install haproxy).';
const CLIENTS = 32;
const SOME_PLANTS = 100;

type Instance = Pick<Store, 'port' | 'managementPort'>;

describeWith(EXECUTABLE === undefined ? MISSING : undefined, 'deploy/haproxy/haproxy.cfg', () => {
  let port: number;
  let proxy: PlantStoreProcess;
  let store: Store;

  /** Starts it in front of up to three instances. */
  async function start(instances: readonly Instance[], variables: Record<string, string> = {}): Promise<void> {
    port = await freePort();
    const env: Record<string, string> = { ...variables, LISTEN: `127.0.0.1:${port}` };
    for (const [i, instance] of instances.entries()) {
      env[`PLANT_STORE_${'ABC'.charAt(i)}`] = `127.0.0.1:${instance.port}`;
      env[`READINESS_${'ABC'.charAt(i)}`] = `127.0.0.1:${instance.managementPort}`;
    }
    const options = { program: String(EXECUTABLE), cwd: ROOT, variables: env };
    proxy = new PlantStoreProcess(['-db', '-f', 'deploy/haproxy/haproxy.cfg'], options);
    await until(() => accepts(port));
  }

  beforeAll(async () => {
    store = await startStore();
  });
  afterEach(() => proxy[Symbol.asyncDispose]());
  afterAll(() => store.stop());

  const create = (headers: Record<string, string> = {}): Promise<RawResponse> =>
    connectTo(port, '').post(`{"id":${randomInt(2 ** 40)},"name":"Rose","tag":"shrub"}`, headers);

  /** An answer of HAProxy itself, in the form of the service. */
  function expectOwn(response: RawResponse, error: ErrorNumber, text: string, headers = {}): void {
    const usual = { 'content-type': 'application/json', 'cache-control': 'no-store' };
    const expected = { ...usual, 'x-content-type-options': 'nosniff', ...headers };
    expect(response).toMatchObject({ status: 400, headers: expected });
    expect(JSON.parse(response.body)).toEqual({ error, message: expect.stringContaining(text) });
  }
  const expectLimited = (response: RawResponse): void => {
    expectOwn(response, 50301, 'Nothing was written', { 'retry-after': '10' });
  };

  it('should hand a create on as it is, limit the requests with a token, and those of an address', async () => {
    await start([store, store], { TOKEN_LIMIT: '2', ADDRESS_LIMIT: '6' });
    for (let sent = 0; sent < 2; sent++) {
      const response = await create({ 'X-Request-Id': 'of-the-client' });
      const headers = { 'content-type': 'application/json', 'x-request-id': 'of-the-client' };
      expect(response).toMatchObject({ status: 200, headers, body: '{"name":"Rose","tag":"shrub"}' });
    }
    for (const Authorization of [`Bearer ${TOKEN}`, `bearer  ${TOKEN}`]) expectLimited(await create({ Authorization }));
    const { headers } = await issueToken(store.database);
    expect(await create(headers)).toMatchObject({ status: 200 });
    // The limit of an address comes next.
    expect((await create(bearer('a-wrong-token-of-many-1'))).body).toContain('40101');
    expectLimited(await create(bearer('a-wrong-token-of-many-2')));
  });

  it('should say if a plant may exist when no instance took its create, or one did not answer', async () => {
    const broken = { port: await freePort(), managementPort: store.managementPort };
    await start([broken, broken]);
    const close = { connection: 'close' };
    expectOwn(await create(), 50300, 'Nothing was written', { 'retry-after': '1', ...close });
    const instance = createServer((socket) => socket.once('data', () => socket.destroy()));
    await once(instance.listen(broken.port, '127.0.0.1'), 'listening');
    expectOwn(await create(), 50400, 'is unknown', close);
    instance.close();
  });

  it('should fail no request while three instances are replaced in turn, and few when one is killed', async () => {
    const database = await createTestDatabase();
    const newInstance = async (): Promise<Instance> => ({ port: await freePort(), managementPort: await freePort() });
    const instances = [await newInstance(), await newInstance(), await newInstance()];
    const serve = ({ port, managementPort }: Instance): Promise<PlantStoreProcess> => {
      const variables = { PORT: String(port), MANAGEMENT_PORT: String(managementPort), DRAIN_DELAY: '2000' };
      return PlantStoreProcess.serve(database.url, variables);
    };
    /** Since it started. */
    const hasCreated = ({ managementPort }: Instance): Promise<void> =>
      until(async () => {
        const metrics = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
        return Number(/^plant_store_plants_created_total (\d+)$/m.exec(metrics)?.[1]) > SOME_PLANTS;
      });

    const services = await Promise.all(instances.map(serve));
    await start(instances);
    await using load = new Load(port, CLIENTS);
    for (const instance of instances) await hasCreated(instance);
    for (const [i, instance] of instances.entries()) {
      services[i]?.signal('SIGTERM');
      expect(await services[i]?.ended).toBe(0);
      services[i] = await serve(instance);
      await hasCreated(instance);
    }
    expect(load.failures).toEqual([]);

    const before = load.created.length;
    await services[0]?.[Symbol.asyncDispose]();
    await until(() => load.created.length > before + 3 * SOME_PLANTS);
    await load.stop();
    // Only what was in flight on it: no other request fails, and none that was not sent.
    expect(load.failures.filter((outcome) => outcome !== 'no answer' && outcome !== 50400)).toEqual([]);
    expect(load.failures.length).toBeLessThanOrEqual(CLIENTS);
    expect(await load.compareWith(database)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
    for (const service of services) await service[Symbol.asyncDispose]();
    await database.drop();
  });
});
