import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Migrator } from '../../src/database/migrator.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { freePort } from '../support/http/free-port.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const PROBE_TIMEOUT_MS = 1000;
const UNREACHABLE_MS = 60_000;

/** One service, the address of its database, the server there and, if a fault needs one, a standby. */
export class Cluster implements AsyncDisposable {
  service!: PlantStoreProcess;
  standby: PostgresServer | undefined;
  /** Ids of the probes are negative, those of the load positive. */
  private probes = 0;

  private constructor(
    public primary: PostgresServer,
    /** In front of the primary. */
    readonly address: TcpProxy,
    /** Of the service. */
    readonly port: number,
  ) {}

  static async start(): Promise<Cluster> {
    const primary = await PostgresServer.createMigrated();
    const address = await TcpProxy.start(primary.url('plants'));
    const cluster = new Cluster(primary, address, await freePort());
    const { password } = new URL(primary.url());
    await cluster.query(`CREATE ROLE plants LOGIN PASSWORD '${password}'`);
    await new Migrator({ url: primary.url(), grantTo: 'plants' }).migrate();
    await cluster.startService();
    return cluster;
  }

  /** With its defaults, on the same port each time. */
  async startService(variables: Record<string, string> = {}): Promise<void> {
    this.service = await PlantStoreProcess.serve(this.address.url, { PORT: String(this.port), ...variables });
  }

  async restartService(variables: Record<string, string> = {}): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    await this.startService(variables);
  }

  /** As the superuser, and not through the address that the service uses; bigint comes back as text. */
  async query<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
    const client = new pg.Client(this.primary.url()).on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(sql)).rows as Row[];
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Stops the primary, makes a standby of its data, and starts both. */
  async addStandby(state: 'sync' | 'async'): Promise<void> {
    this.standby = await this.primary.startStandby();
    await this.primary.set('synchronous_standby_names', state === 'sync' ? '*' : '');
    const isSo = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '${state}'`;
    await until(async () => (await this.query(isSo)).length === 1);
  }

  async removeStandby(): Promise<void> {
    await this.primary.set('synchronous_standby_names', '');
    await this.standby?.remove();
    this.standby = undefined;
  }

  /** The standby becomes the primary, and the address leads to it. The old primary is killed before, as a fence would do it. */
  async failOver(): Promise<void> {
    const { primary, standby } = this;
    if (!standby) throw new Error('There is no standby.');
    await primary.kill();
    await standby.query('SELECT pg_promote()');
    this.primary = standby;
    this.standby = undefined;
    await standby.set('synchronous_standby_names', '');
    this.address.leadTo(standby.url('plants'));
    await primary.remove();
  }

  /** Resolves when the service creates plants. */
  async serving(): Promise<void> {
    await until(async () => {
      const answer = await this.service.post(`{"id":${--this.probes},"name":"probe"}`).catch(() => undefined);
      return answer?.status === 200;
    });
  }

  /** Resolves with the time at which a new connection to the address could create a plant. */
  async accepting(): Promise<number> {
    const deadline = performance.now() + UNREACHABLE_MS;
    while (performance.now() < deadline) {
      const client = new pg.Client({
        connectionString: this.address.url,
        connectionTimeoutMillis: PROBE_TIMEOUT_MS,
        query_timeout: PROBE_TIMEOUT_MS,
      });
      client.on('error', () => undefined);
      try {
        await client.connect();
        await client.query(`INSERT INTO plants (id, name) VALUES (${--this.probes}, 'probe')`);
        return performance.now();
      } catch {
        await sleep(2);
      } finally {
        void client.end().catch(() => undefined);
      }
    }
    return NaN;
  }

  /** Resolves when no session of the service does anything: a statement may outlive the answer to its request. */
  async settled(): Promise<void> {
    const busy = `SELECT FROM pg_stat_activity WHERE application_name = 'plant-store' AND state <> 'idle'`;
    await until(async () => (await this.query(busy)).length === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    await Promise.all([this.address.close(), this.primary.remove(), this.standby?.remove()]);
  }
}

/** Something that goes wrong under load. */
export interface Fault {
  readonly name: string;
  /** Before the load: what the fault needs. */
  prepare?(cluster: Cluster): Promise<unknown>;
  /** Makes it go wrong. */
  inject(cluster: Cluster): unknown;
  /** Milliseconds until it ends; without them when it is injected. */
  readonly lasts?: number;
  /** Meanwhile it is injected again and again, after as many milliseconds. */
  readonly every?: number;
  /** Ends it. */
  restore?(cluster: Cluster): unknown;
  /** After the load. */
  cleanup?(cluster: Cluster): Promise<unknown>;
  /** What the service cannot survive: it is here to show that the harness finds a loss. */
  readonly loses?: true;
  /** No request may end without an answer: connections are refused at most. */
  readonly answersAll?: true;
  /** No create may fail: only an id that is taken is refused. */
  readonly createsAll?: true;
  /** The service was ended, not the database: recovery counts from when it listens again. */
  readonly endsService?: true;
  /** Mounts disks, which only root can do. */
  readonly needsRoot?: true;
}

export async function repeat(duration: number, pause: number, work: () => unknown): Promise<void> {
  const end = performance.now() + duration;
  while (performance.now() < end) {
    await work();
    await sleep(pause);
  }
}
