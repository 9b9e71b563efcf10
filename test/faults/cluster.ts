import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Migrator } from '../../src/database/migrator.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { freePort } from '../support/http/free-port.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import type { RawResponse } from '../support/http/raw-connection.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { until } from '../support/until.js';

const PROBE_TIMEOUT_MS = 1000;
/** Of the service. */
export const SESSIONS = `FROM pg_stat_activity WHERE application_name = 'plant-store'`;

export type Step = (cluster: Cluster) => unknown;

/** Something that goes wrong. */
export interface Fault {
  /** Under load: makes it go wrong, and ends it. */
  readonly happen: Step;
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
  /** Mounts disks, which only root can do. */
  readonly needsRoot?: true;
}

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
    /** In which the service runs. */
    readonly folder: string,
  ) {}

  static async start(): Promise<Cluster> {
    const primary = await PostgresServer.createMigrated();
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-faults-'));
    // Or root's embedded server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
    const address = await TcpProxy.start(primary.url('plants'));
    const cluster = new Cluster(primary, address, await freePort(), folder);
    await primary.query(`CREATE ROLE plants LOGIN PASSWORD '${new URL(primary.url()).password}'`);
    await new Migrator({ url: primary.url(), grantTo: 'plants' }).migrate();
    await cluster.startService();
    return cluster;
  }

  /** With its defaults, on the same port each time. An empty `DATABASE_URL` makes it embed a server. */
  async startService(variables: Record<string, string> = {}): Promise<void> {
    const usual = { ...serviceVariables(this.address.url), PORT: String(this.port) };
    const all: Record<string, string> = { ...usual, ...variables };
    this.service = await new PlantStoreProcess(['serve'], { cwd: this.folder, variables: all }).listening();
    const isEmbedded = all.DATABASE_URL === '';
    this.embeddedUrl = isEmbedded ? await readFile(join(this.folder, '.data/database-url'), 'utf8') : undefined;
  }

  /** Returns how the process before has ended. */
  async restartService(signal: NodeJS.Signals, variables?: Record<string, string>): Promise<number | NodeJS.Signals> {
    this.service.signal(signal);
    const code = await this.service.ended;
    await this.startService(variables);
    return code;
  }

  /** As the superuser, and not through the address that the service uses; bigint comes back as text. */
  async query<Row = Record<string, unknown>>(sql: string, options: pg.ClientConfig = {}): Promise<Row[]> {
    const connectionString = this.embeddedUrl?.trim() ?? this.primary.url();
    const client = new pg.Client({ connectionString, ...options }).on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(sql)).rows as Row[];
    } finally {
      void client.end().catch(() => undefined);
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

  /** First the standby ends, then the primary. The standby comes back alone, and takes its place. */
  async failOverLate(meanwhile: () => Promise<unknown>): Promise<void> {
    await this.standby?.kill();
    await meanwhile();
    await this.primary.kill();
    await this.standby?.start();
    await this.failOver();
  }

  /** Resolves when the service creates plants. */
  async serving(): Promise<void> {
    const probe = (): Promise<RawResponse | undefined> =>
      this.service.post(`{"id":${--this.probes},"name":"probe"}`).catch(() => undefined);
    await until(async () => (await probe())?.status === 200);
  }

  /** Resolves when a new connection to the address could create a plant. */
  async accepting(): Promise<void> {
    const timeouts = { connectionTimeoutMillis: PROBE_TIMEOUT_MS, query_timeout: PROBE_TIMEOUT_MS };
    const address = { connectionString: this.address.url, ...timeouts };
    const probe = (): Promise<object[]> =>
      this.query(`INSERT INTO plants (id, name) VALUES (${--this.probes}, 'probe') RETURNING id`, address);
    await until(async () => (await probe().catch(() => [])).length === 1);
  }

  /** Cancels the statements of all sessions of the service, or ends the sessions. */
  async disturb(how: 'pg_cancel_backend' | 'pg_terminate_backend'): Promise<void> {
    await this.query(`SELECT ${how}(pid) ${SESSIONS}`);
  }

  /** Resolves when no session of the service does anything: a statement may outlive the answer to its request. */
  async settled(): Promise<void> {
    await until(async () => (await this.query(`SELECT ${SESSIONS} AND state <> 'idle'`)).length === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    await Promise.all([this.address.close(), this.primary.remove(), this.standby?.remove()]);
    await rm(this.folder, { recursive: true });
  }
}
