import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { until } from '../support/until.js';
import type { Cluster } from './cluster.js';

const run = promisify(execFile);

/** Something that goes wrong under load. */
export interface Fault {
  readonly name: string;
  /** Before the load: what the fault needs. */
  prepare?(cluster: Cluster): Promise<unknown>;
  /** Makes it go wrong, and returns when it has been so for long enough. */
  inject(cluster: Cluster): Promise<unknown>;
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

/** A killed program's session ends when the server notices. */
const MIGRATING = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 72707369`;
const SESSIONS = `FROM pg_stat_activity WHERE application_name = 'plant-store'`;

const ofProcesses: Fault[] = [
  {
    name: 'kill -9 of PostgreSQL, then a start',
    inject: ({ primary }) => primary.kill(),
    restore: ({ primary }) => primary.start(),
  },
  {
    name: 'kill -9 of one session: PostgreSQL recovers',
    async inject({ primary }) {
      const witness = new pg.Client(primary.url());
      witness.on('error', () => undefined);
      await witness.connect();
      const { rows } = await witness.query<{ pid: number }>(`SELECT pid ${SESSIONS} LIMIT 1`);
      process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
      // PostgreSQL ends all sessions when it has noticed.
      await new Promise((resolve) => witness.once('end', resolve));
    },
  },
  {
    name: 'immediate restart of PostgreSQL',
    inject: ({ primary }) => primary.end('SIGQUIT'),
    restore: ({ primary }) => primary.start(),
  },
  ...[3, 20].map((seconds) => ({
    name: `PostgreSQL stopped (SIGSTOP) for ${seconds} s`,
    async inject({ primary }: Cluster) {
      await primary.signalAll('SIGSTOP');
      await sleep(seconds * 1000);
    },
    restore: ({ primary }: Cluster) => primary.signalAll('SIGCONT'),
  })),
  {
    name: 'kill -9 of the embedded PostgreSQL: the service says so and ends, then a start',
    endsService: true,
    prepare: (cluster) => cluster.embed(),
    async inject(cluster) {
      const { service } = cluster;
      process.kill(await cluster.embeddedServer(), 'SIGKILL');
      const code = await service.ended;
      if (code !== 1 || !service.stderr.includes('The embedded PostgreSQL has ended by itself (SIGKILL)'))
        throw new Error(`The service ended with ${code}: ${service.stderr}`);
    },
    restore: (cluster) => cluster.startEmbedded(),
    cleanup: (cluster) => cluster.unembed(),
  },
  {
    name: 'kill -9 of the service, then a start',
    endsService: true,
    inject: ({ service }) => service[Symbol.asyncDispose](),
    restore: (cluster) => cluster.startService(),
  },
  ...(['SIGTERM', 'SIGHUP'] as const).map((signal) => ({
    name: `stop of the service (${signal}), then a start`,
    endsService: true as const,
    answersAll: true as const,
    async inject({ service }: Cluster) {
      service.signal(signal);
      const code = await service.ended;
      if (code !== 0) throw new Error(`The service ended with ${code}.`);
    },
    restore: (cluster: Cluster) => cluster.startService(),
  })),
];

const ofMemory: Fault[] = [
  {
    name: 'heap of 128 MB, 64 clients with large bodies for 5 s',
    answersAll: true,
    prepare: (cluster) => cluster.restartService({ NODE_OPTIONS: '--max-old-space-size=128' }),
    async inject({ service }) {
      // Two bytes a character in memory. Ids below those of the probes: the load's own are positive.
      let id = -1_000_000_000;
      const name = `${'x'.repeat(1_000_000)}ж`;
      const end = performance.now() + 5000;
      const post = async (): Promise<void> => {
        while (performance.now() < end) await service.post(JSON.stringify({ id: --id, name }));
      };
      await Promise.all(Array.from({ length: 64 }, post));
      if (!service.isRunning) throw new Error('The service has ended.');
    },
    cleanup: (cluster) => cluster.restartService(),
  },
];

const ofSessions: Fault[] = [
  {
    name: 'sessions terminated, for 2 s',
    inject: ({ primary }) => repeat(2000, 20, () => primary.query(`SELECT pg_terminate_backend(pid) ${SESSIONS}`)),
  },
  {
    name: 'statements cancelled, for 2 s',
    inject: ({ primary }) => repeat(2000, 5, () => primary.query(`SELECT pg_cancel_backend(pid) ${SESSIONS}`)),
  },
  {
    name: 'table locked for 7 s',
    inject: ({ primary }) => primary.query('BEGIN; LOCK TABLE plants; SELECT pg_sleep(7); COMMIT'),
  },
  {
    name: 'no connections left, for 3 s',
    async inject({ primary }) {
      const others: pg.Client[] = [];
      const takeAll = async (): Promise<void> => {
        for (;;) {
          const client = new pg.Client({ connectionString: primary.url('plants'), application_name: 'other' });
          client.on('error', () => undefined);
          others.push(client);
          if (await client.connect().catch(() => true)) return;
        }
      };
      await repeat(3000, 20, async () => {
        // An attempt that is refused holds a slot for a moment, of those for superusers too.
        await primary.query(`SELECT pg_terminate_backend(pid) ${SESSIONS}`).catch(() => undefined);
        await takeAll();
      });
      await Promise.all(others.map((client) => client.end().catch(() => undefined)));
    },
  },
];

const ofMigrations: Fault[] = [
  {
    name: 'migrate while a reader keeps the table, and again when it does not',
    createsAll: true,
    async inject(cluster) {
      const reader = new pg.Client(cluster.primary.url());
      await reader.connect();
      await reader.query('BEGIN; SELECT count(*) FROM plants');
      const kept = await cluster.migrate();
      const refusal = await kept.ended;
      await reader.end();
      if (refusal !== 1 || !kept.output.includes('is locked')) throw new Error(`migrate: ${refusal}: ${kept.output}`);
      const run = await cluster.migrate();
      const code = await run.ended;
      if (code !== 0 || !(await cluster.isMigrated())) throw new Error(`migrate ended with ${code}: ${run.output}`);
    },
    cleanup: (cluster) => cluster.undoMigration(),
  },
  {
    name: 'kill -9 of migrate at each of its statements, then migrate',
    createsAll: true,
    async inject(cluster) {
      const NODE_OPTIONS = `--require ${fileURLToPath(new URL('../../../kill-at.cjs', import.meta.url))}`;
      for (let statement = 1; ; statement++) {
        const killed = await cluster.migrate({ NODE_OPTIONS, KILL_AT: String(statement) });
        const code = await killed.ended;
        await until(async () => (await cluster.primary.query(MIGRATING)).length === 0);
        const wasMigrated = await cluster.isMigrated();
        const next = await cluster.migrate();
        if ((await next.ended) !== 0 || !(await cluster.isMigrated()))
          throw new Error(`After a kill at statement ${statement}: ${next.output}`);
        await cluster.undoMigration();
        if (code === 'SIGKILL') continue;
        if (code !== 0 || !wasMigrated) throw new Error(`migrate ended with ${code}: ${killed.output}`);
        return;
      }
    },
    cleanup: (cluster) => cluster.undoMigration(),
  },
];

/** The clients repeat creates with keys meanwhile, and contest ids. */
const ofTheTable: Fault[] = [
  ...['', ' CONCURRENTLY'].map((how) => ({
    name: `REINDEX${how} of the table, for 3 s`,
    createsAll: true as const,
    inject: ({ primary }: Cluster) => repeat(3000, 20, () => primary.query(`REINDEX TABLE${how} plants`)),
  })),
  {
    name: 'ALTER TYPE of columns, for 3 s',
    createsAll: true,
    inject: ({ primary }) =>
      repeat(3000, 50, async () => {
        for (const type of ['varchar(1000)', 'text'])
          await primary.query(
            ['name', 'tag', 'idempotency_key']
              .map((column) => `ALTER TABLE plants ALTER COLUMN ${column} TYPE ${type}`)
              .join(';'),
          );
      }),
    restore: ({ primary }) => primary.query('ALTER TABLE plants ALTER COLUMN name TYPE text'),
  },
];

const ofTheNetwork: Fault[] = [
  {
    name: 'connections lost in the place of an answer, for 2 s',
    inject: ({ address }) =>
      repeat(2000, 50, () => {
        address.loseAnswers();
      }),
  },
  {
    name: 'connections reset and refused for 1 s',
    async inject({ address }) {
      address.reset();
      await sleep(1000);
    },
    restore: restoreAddress,
  },
  {
    name: 'answers trickle, 2 bytes a millisecond, for 3 s',
    async inject({ address }) {
      address.trickle = 2;
      await sleep(3000);
    },
    restore: restoreAddress,
  },
  {
    name: 'black hole for 7 s; then everything held back arrives',
    async inject({ address }) {
      address.freeze();
      await sleep(7000);
    },
    restore: restoreAddress,
  },
];

const ofTheDisk: Fault[] = [
  {
    name: 'disk of the WAL full: PostgreSQL ends, is started with room again',
    needsRoot: true,
    async prepare(cluster) {
      const wal = join(cluster.primary.data, 'pg_wal');
      await cluster.primary.end('SIGINT');
      await run('sh', ['-c', 'mv "$1" "$1.aside" && mkdir "$1"', 'sh', wal]);
      await cluster.mountDisk(wal, '112m');
      await run('sh', ['-c', 'cp -a "$1.aside/." "$1" && rm -r "$1.aside"', 'sh', wal]);
      await cluster.primary.start();
    },
    async inject({ primary }) {
      await fill(join(primary.data, 'pg_wal'));
      // The load alone would need a while for what is left of the present segment.
      const write = `SELECT pg_logical_emit_message(false, 'faults', repeat('x', 1000000))`;
      while (await primary.query(write).catch(() => undefined));
      await sleep(1000);
    },
    async restore({ primary }) {
      await empty(join(primary.data, 'pg_wal'));
      await primary.start();
    },
    async cleanup(cluster) {
      const wal = join(cluster.primary.data, 'pg_wal');
      await cluster.primary.end('SIGINT');
      await run('cp', ['-a', wal, `${wal}.aside`]);
      await cluster.unmountDisk(wal);
      await run('sh', ['-c', 'rmdir "$1" && mv "$1.aside" "$1"', 'sh', wal]);
      await cluster.primary.start();
    },
  },
  {
    name: 'disk of the table full, for 2 s',
    needsRoot: true,
    async prepare(cluster) {
      const disk = join(cluster.primary.data, '../table-disk');
      await mkdir(disk);
      await cluster.mountDisk(disk, '32m');
      await cluster.primary.query(`CREATE TABLESPACE small LOCATION '${disk}'`);
      await cluster.primary.query(
        'ALTER TABLE plants SET TABLESPACE small; ALTER INDEX plants_pkey SET TABLESPACE small',
      );
    },
    async inject({ primary }) {
      await fill(join(primary.data, '../table-disk'));
      await sleep(2000);
    },
    restore: ({ primary }) => empty(join(primary.data, '../table-disk')),
    async cleanup(cluster) {
      const disk = join(cluster.primary.data, '../table-disk');
      await cluster.primary.query(
        'ALTER TABLE plants SET TABLESPACE pg_default; ALTER INDEX plants_pkey SET TABLESPACE pg_default',
      );
      await cluster.primary.query('DROP TABLESPACE small');
      await cluster.unmountDisk(disk);
      await rm(disk, { recursive: true });
    },
  },
];

const ofServers: Fault[] = [
  {
    name: 'server set to read-only for 2 s',
    async inject(cluster) {
      await cluster.primary.set('default_transaction_read_only', 'on');
      await sleep(2000);
    },
    restore: (cluster) => cluster.primary.set('default_transaction_read_only', 'off'),
  },
  {
    name: 'address leads to a standby for 2 s; its connections are kept',
    prepare: (cluster) => cluster.addStandby({ synchronous: false }),
    async inject({ address, standby }) {
      if (standby) address.leadTo(standby.url('plants'));
      address.reset();
      address.restore();
      await sleep(2000);
    },
    restore({ address, primary }) {
      address.leadTo(primary.url('plants'));
    },
    cleanup: (cluster) => cluster.removeStandby(),
  },
  {
    name: 'failover to a synchronous standby',
    prepare: (cluster) => cluster.addStandby({ synchronous: true }),
    inject: ({ primary }) => primary.kill(),
    restore: (cluster) => cluster.failOver(),
  },
  {
    name: 'synchronous standby away for 8 s, waiting commits cancelled, then failover to it',
    prepare: (cluster) => cluster.addStandby({ synchronous: true }),
    inject: (cluster) =>
      loseBoth(cluster, async ({ primary }) => {
        await sleep(6000);
        // A commit that is cancelled is not undone: PostgreSQL answers it, with a warning that its standby lacks it.
        await repeat(1000, 50, () => primary.query(`SELECT pg_cancel_backend(pid) ${SESSIONS}`));
        await repeat(1000, 50, () => primary.query(`SELECT pg_terminate_backend(pid) ${SESSIONS}`));
      }),
    restore: (cluster) => cluster.failOver(),
  },
  {
    name: 'failover to an asynchronous standby, 0.5 s behind',
    loses: true,
    prepare: (cluster) => cluster.addStandby({ synchronous: false }),
    inject: (cluster) => loseBoth(cluster, () => sleep(500)),
    restore: (cluster) => cluster.failOver(),
  },
];

export const FAULTS: readonly Fault[] = [
  ...ofProcesses,
  ...ofMemory,
  ...ofSessions,
  ...ofMigrations,
  ...ofTheTable,
  ...ofTheNetwork,
  ...ofTheDisk,
  ...ofServers,
];

/** First the standby ends, then the primary; the standby comes back alone. */
async function loseBoth(cluster: Cluster, between: (cluster: Cluster) => Promise<unknown>): Promise<void> {
  const { primary, standby } = cluster;
  await standby?.kill();
  await between(cluster);
  await primary.kill();
  await standby?.start();
}

function restoreAddress({ address }: Cluster): void {
  address.restore();
}

async function repeat(duration: number, pause: number, work: () => unknown): Promise<void> {
  const end = performance.now() + duration;
  while (performance.now() < end) {
    await work();
    await sleep(pause);
  }
}

/** Takes all the room that a disk has left. */
async function fill(folder: string): Promise<void> {
  await run('dd', ['if=/dev/zero', `of=${join(folder, 'filler')}`, 'bs=64k']).catch(() => undefined);
}

async function empty(folder: string): Promise<void> {
  await rm(join(folder, 'filler'));
}
