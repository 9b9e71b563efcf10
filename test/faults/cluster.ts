import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Migrator } from '../../src/database/migrator.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { query } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { until } from '../support/until.js';

const PROBE_TIMEOUT_MS = 1000;

type Step = (cluster: Cluster) => unknown;

/** What a fault needs, and what it may not do. */
export interface FaultOptions {
  /** Before the load. A standby is removed afterwards. */
  readonly prepare?: Step;
  /** After the load. */
  readonly cleanup?: Step;
  /** What the service cannot survive: it is here to show that a loss is found. */
  readonly loses?: true;
  /** No request may end without an answer: connections are refused at most. */
  readonly answersAll?: true;
  /** No create may fail: only an id that is taken is refused. */
  readonly createsAll?: true;
}

/** Something that goes wrong under load. */
export type Fault = FaultOptions & Readonly<{ name: string; happen: Step }>;

/** @param happen makes it go wrong, and ends it */
export const fault = (name: string, options: FaultOptions, happen: Step): Fault => ({ name, happen, ...options });

/** One service, the address of its database, the server there and, if a fault needs one, a standby. */
export class Cluster implements AsyncDisposable {
  service!: PlantStoreProcess;
  standby: PostgresServer | undefined;
  /** Of the server that the service has embedded, if it has. */
  private embeddedUrl: string | undefined;
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
    const cluster = new Cluster(primary, await TcpProxy.start(primary.url('plants')), await freePort());
    await cluster.query('CREATE ROLE plants LOGIN');
    await new Migrator({ url: primary.url(), grantTo: 'plants' }).migrate();
    await cluster.startService();
    return cluster;
  }

  /** With its defaults, on the same port each time. */
  async startService(variables: Record<string, string> = {}, cwd = tmpdir()): Promise<void> {
    const own = { ...serviceVariables(this.address.url), PORT: String(this.port) };
    this.service = await new PlantStoreProcess(['serve'], { cwd, variables: { ...own, ...variables } }).listening();
    this.embeddedUrl = undefined;
  }

  async restartService(variables: Record<string, string> = {}): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    await this.startService(variables);
  }

  /** With an embedded PostgreSQL, whose data are in that folder. */
  async startEmbedded(folder: string): Promise<void> {
    await this.startService({ DATABASE_URL: '' }, folder);
    this.embeddedUrl = (await readFile(join(folder, '.data/database-url'), 'utf8')).trim();
  }

  /** As the superuser, and not through the address that the service uses; bigint comes back as text. */
  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
    return query(this.embeddedUrl ?? this.primary.url(), sql);
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

  /** The primary is killed, as a fence would do it. The address leads to the standby, which takes its place. */
  async failOver(): Promise<void> {
    const { primary, standby } = this;
    if (!standby) throw new Error('There is no standby.');
    await primary.kill();
    await standby.query('SELECT pg_promote()');
    await standby.set('synchronous_standby_names', '');
    [this.primary, this.standby] = [standby, primary];
    this.address.leadTo(standby.url('plants'));
  }

  /** Resolves when the service creates plants. */
  async serving(): Promise<void> {
    await until(async () => {
      const answer = await this.service.post(`{"id":${--this.probes},"name":"probe"}`).catch(() => undefined);
      return answer?.status === 200;
    });
  }

  /** Resolves when a new connection to the address could create a plant. */
  async accepting(): Promise<void> {
    const timeouts = { connectionTimeoutMillis: PROBE_TIMEOUT_MS, query_timeout: PROBE_TIMEOUT_MS };
    await until(async () => {
      const client = new pg.Client({ connectionString: this.address.url, ...timeouts }).on('error', () => undefined);
      try {
        await client.connect();
        await client.query(`INSERT INTO plants (id, name) VALUES (${--this.probes}, 'probe')`);
        return true;
      } catch {
        return false;
      } finally {
        void client.end().catch(() => undefined);
      }
    });
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
