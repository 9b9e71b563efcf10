import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { PostgresServer } from '../support/database/postgres-server.js';
import { freePort } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const run = promisify(execFile);
// This file runs from a build of its own, four folders below the package.
const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const script = join(root, 'dist/main.js');
const PROBE_TIMEOUT_MS = 1000;

const NEWER_MIGRATION = {
  name: '29990101000000_add_height',
  checksum: 'none',
  makes: { table: 'plants', column: 'height' },
  sql: 'ALTER TABLE "plants" ADD COLUMN "height" INTEGER;',
};

/** One service, the address of its database, the server there and, if a fault needs one, a standby. */
export class Cluster implements AsyncDisposable {
  primary!: PostgresServer;
  standby: PostgresServer | undefined;
  /** The primary while an embedded server is in its place. */
  private outer: PostgresServer | undefined;
  /** In front of the primary. */
  address!: TcpProxy;
  /** Of the service. */
  port = 0;
  private process: PlantStoreProcess | undefined;
  /** Small disks that are to become full, by folder. */
  private readonly disks = new Set<string>();
  /** Ids of the probes are negative, those of the load positive. */
  private probes = 0;
  private isEnding = false;

  async start(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-faults-'));
    // PostgreSQL runs as another user than root.
    await chmod(folder, 0o711);
    process.once('exit', () => {
      rmSync(folder, { recursive: true, force: true });
    });
    this.primary = await PostgresServer.create(folder);
    this.address = await TcpProxy.start(this.primary.url('plants'));
    this.port = await freePort();
    await this.primary.start();
    await this.primary.query(`CREATE ROLE plants LOGIN PASSWORD 'faults'`, 'postgres');
    await this.primary.query('CREATE DATABASE plants OWNER plants', 'postgres');
    const { stderr } = await PlantStoreProcess.run('migrate', { DATABASE_URL: this.address.url }, { script });
    if (stderr !== '') throw new Error(stderr);
    await this.startService();
  }

  get service(): PlantStoreProcess {
    if (!this.process) throw new Error('The service was not started.');
    return this.process;
  }

  /** With its defaults, on the same port each time. */
  async startService(variables: Record<string, string> = {}): Promise<void> {
    const all = { PORT: String(this.port), ...variables };
    this.process = await PlantStoreProcess.serve(this.address.url, all, { script });
  }

  async restartService(variables: Record<string, string> = {}): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    await this.startService(variables);
  }

  /** Runs `migrate` of a newer build, which has a migration that the database lacks. */
  async migrate(variables: Record<string, string> = {}): Promise<PlantStoreProcess> {
    const newer = join(root, 'test/faults/dist/newer');
    await cp(join(root, 'dist'), join(newer, 'dist'), { recursive: true });
    await cp(join(root, 'package.json'), join(newer, 'package.json'));
    const list = join(newer, 'dist/database/generated/migrations.js');
    const added = `exports.MIGRATIONS.push(${JSON.stringify(NEWER_MIGRATION)});\n`;
    await writeFile(list, (await readFile(list, 'utf8')) + added);
    // Directly to the server: over the service's address, a fault of the network would look the same.
    const all = { DATABASE_URL: this.primary.url('plants'), ...variables };
    return PlantStoreProcess.run('migrate', all, { script: join(newer, 'dist/main.js') });
  }

  /** Whether that migration is complete: true, or false if nothing of it is there. */
  async isMigrated(): Promise<boolean> {
    const { name } = NEWER_MIGRATION;
    const [rows, columns] = await Promise.all([
      this.primary.query(
        `SELECT finished_at IS NOT NULL AS finished FROM _prisma_migrations WHERE migration_name = '${name}'`,
      ),
      this.primary.query(`SELECT FROM pg_attribute WHERE attrelid = 'plants'::regclass AND attname = 'height'`),
    ]);
    if (rows.length !== columns.length || rows.some(({ finished }) => finished !== true))
      throw new Error(`A migration is half done: ${JSON.stringify(rows)}, ${columns.length} columns.`);
    return rows.length === 1;
  }

  async undoMigration(): Promise<void> {
    await this.primary.query('ALTER TABLE plants DROP COLUMN IF EXISTS height');
    await this.primary.query(`DELETE FROM _prisma_migrations WHERE migration_name = '${NEWER_MIGRATION.name}'`);
  }

  /** Puts a service with an embedded PostgreSQL in the place of the other one, on the same port. */
  async embed(): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-faults-'));
    await chmod(folder, 0o755);
    this.outer = this.primary;
    await this.startEmbedded(folder);
  }

  /** Starts a service with an embedded PostgreSQL, whose data are in that folder. */
  async startEmbedded(folder = this.primary.folder): Promise<void> {
    const variables = { ACCESS_TOKENS: TOKEN, PORT: String(this.port), MANAGEMENT_PORT: '0' };
    this.process = await new PlantStoreProcess(['serve'], { cwd: folder, script, variables }).listening();
    const url = await readFile(join(folder, '.data/database-url'), 'utf8');
    this.primary = this.primary.elsewhere(folder, new URL(url.trim()));
    this.address.leadTo(this.primary.url());
  }

  /** The process of the embedded PostgreSQL. */
  async embeddedServer(): Promise<number> {
    return parseInt(await readFile(join(this.primary.folder, '.data/postgres/postmaster.pid'), 'utf8'), 10);
  }

  /** Ends what `embed` has started. */
  async unembed(): Promise<void> {
    this.service.signal('SIGTERM');
    await this.service.ended;
    await rm(this.primary.folder, { recursive: true });
    if (this.outer) this.primary = this.outer;
    this.outer = undefined;
    this.address.leadTo(this.primary.url('plants'));
    await this.startService();
  }

  /** Resolves when the service creates plants. */
  async serving(): Promise<void> {
    await until(async () => {
      const answer = await this.service.post(`{"id":${--this.probes},"name":"probe"}`).catch(() => undefined);
      return answer?.status === 200;
    });
  }

  /** Stops the primary, makes a standby of its data, and starts both. */
  async addStandby({ synchronous }: { synchronous: boolean }): Promise<void> {
    this.standby = await this.primary.startStandby();
    await this.primary.set('synchronous_standby_names', synchronous ? '*' : '');
    const state = synchronous ? 'sync' : 'async';
    await until(async () => {
      const sql = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '${state}'`;
      return (await this.primary.query(sql)).length === 1;
    });
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
    await this.primary.set('synchronous_standby_names', '');
    this.address.leadTo(standby.url('plants'));
    await primary.remove();
  }

  /** Resolves with the time at which a new connection to the address could create a plant. */
  async accepting(): Promise<number> {
    for (;;) {
      if (this.isEnding) return NaN;
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
  }

  /** Resolves when no session of the service does anything: a statement may outlive the answer to its request. */
  async settled(): Promise<void> {
    const sql = `SELECT FROM pg_stat_activity WHERE application_name = 'plant-store' AND state <> 'idle'`;
    await until(async () => (await this.primary.query(sql)).length === 0);
  }

  /** A disk of its own for a folder of the server. */
  async mountDisk(folder: string, size: string): Promise<void> {
    const { uid, gid } = this.primary.account;
    await run('mount', ['-t', 'tmpfs', '-o', `size=${size},uid=${uid ?? 0},gid=${gid ?? 0},mode=700`, 'tmpfs', folder]);
    this.disks.add(folder);
  }

  async unmountDisk(folder: string): Promise<void> {
    await run('umount', [folder]);
    this.disks.delete(folder);
  }

  /** The most memory that the service has had, in bytes; undefined if only Linux would tell. */
  async peakMemory(): Promise<number | undefined> {
    const status = await readFile(`/proc/${this.service.pid}/status`, 'utf8').catch(() => '');
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(status) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnding = true;
    await this.process?.[Symbol.asyncDispose]();
    const { primary, address } = this as Partial<Cluster>;
    await Promise.all([address?.close(), primary?.kill(), this.outer?.kill(), this.standby?.kill()]);
    for (const folder of this.disks) await this.unmountDisk(folder);
  }
}
