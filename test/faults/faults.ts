import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, type Fault, fault, type FaultOptions } from './cluster.js';

const SESSIONS = `FROM pg_stat_activity WHERE application_name = 'plant-store'`;

const cancelAll = (cluster: Cluster): Promise<unknown> => cluster.query(`SELECT pg_cancel_backend(pid) ${SESSIONS}`);
const terminateAll = (cluster: Cluster): Promise<unknown> =>
  cluster.query(`SELECT pg_terminate_backend(pid) ${SESSIONS}`);

/** Does it again and again, with a pause of as many milliseconds. */
async function repeat(duration: number, pause: number, work: () => unknown): Promise<void> {
  const end = performance.now() + duration;
  while (performance.now() < end) {
    await work();
    await sleep(pause);
  }
}

/** First the standby ends, then the primary. The standby comes back alone, and takes its place. */
async function failOverLate(cluster: Cluster, meanwhile: () => Promise<unknown>): Promise<void> {
  await cluster.standby?.kill();
  await meanwhile();
  await cluster.primary.kill();
  await cluster.standby?.start();
  await cluster.failOver();
}

const CREATES_ALL: FaultOptions = { createsAll: true };
const SYNCHRONOUS: FaultOptions = { prepare: (cluster) => cluster.addStandby('sync') };
const ASYNCHRONOUS: FaultOptions = { prepare: (cluster) => cluster.addStandby('async') };

/** What its processes, its sessions and its operators do to PostgreSQL. */
const DATABASE_FAULTS: readonly Fault[] = [
  fault('kill -9 of PostgreSQL, then a start', {}, async ({ primary }) => {
    await primary.kill();
    await primary.start();
  }),
  fault('kill -9 of one session: PostgreSQL recovers', {}, async ({ primary }) => {
    // PostgreSQL ends all sessions when it has noticed.
    const witness = primary.query('SELECT pg_sleep(60)').catch(() => undefined);
    const [session] = await primary.query<{ pid: number }>(`SELECT pid ${SESSIONS} LIMIT 1`);
    if (session) process.kill(session.pid, 'SIGKILL');
    await witness;
  }),
  ...[3, 20].map((seconds) =>
    fault(`PostgreSQL stopped (SIGSTOP) for ${seconds} s`, {}, async ({ primary }) => {
      await primary.signalAll('SIGSTOP');
      await sleep(seconds * 1000);
      await primary.signalAll('SIGCONT');
    }),
  ),
  fault('sessions terminated, for 2 s', {}, (cluster) => repeat(2000, 20, () => terminateAll(cluster))),
  fault('statements cancelled, for 2 s', {}, (cluster) => repeat(2000, 5, () => cancelAll(cluster))),
  fault('table locked for 7 s', {}, (cluster) => cluster.query('BEGIN; LOCK TABLE plants; SELECT pg_sleep(7); COMMIT')),
  fault('no connections left, for 3 s', {}, async (cluster) => {
    const others: pg.Client[] = [];
    const connectAnother = (): Promise<boolean> => {
      const client = new pg.Client(cluster.primary.url('plants')).on('error', () => undefined);
      others.push(client);
      return client.connect().then(
        () => true,
        () => false,
      );
    };
    await repeat(3000, 20, async () => {
      // An attempt that is refused holds a slot for a moment, of those for superusers too.
      await terminateAll(cluster).catch(() => undefined);
      while (await connectAnother());
    });
    await Promise.all(others.map((client) => client.end().catch(() => undefined)));
  }),
  fault('REINDEX CONCURRENTLY of the table, for 3 s', CREATES_ALL, (cluster) =>
    repeat(3000, 20, () => cluster.query('REINDEX TABLE CONCURRENTLY plants')),
  ),
  fault('ALTER TYPE of columns, for 3 s', CREATES_ALL, (cluster) =>
    repeat(3000, 50, async () => {
      for (const type of ['varchar(1000)', 'text']) {
        const changes = ['name', 'tag', 'idempotency_key'].map((column) => `ALTER ${column} TYPE ${type}`);
        await cluster.query(`ALTER TABLE plants ${changes.join(', ')}`);
      }
    }),
  ),
  fault('server set to read-only for 2 s', {}, async ({ primary }) => {
    await primary.set('default_transaction_read_only', 'on');
    await sleep(2000);
    await primary.set('default_transaction_read_only', 'off');
  }),
  fault('address leads to a standby for 2 s; its connections are kept', ASYNCHRONOUS, async (cluster) => {
    const { address, primary, standby = primary } = cluster;
    address.leadTo(standby.url('plants'));
    address.reset();
    address.restore();
    await sleep(2000);
    address.leadTo(primary.url('plants'));
  }),
  fault('failover to a synchronous standby', SYNCHRONOUS, (cluster) => cluster.failOver()),
  fault('synchronous standby away for 8 s, waiting sessions terminated, then failover to it', SYNCHRONOUS, (cluster) =>
    failOverLate(cluster, async () => {
      await sleep(7000);
      await repeat(1000, 50, () => terminateAll(cluster));
    }),
  ),
  fault('failover to an asynchronous standby, 0.5 s behind', { ...ASYNCHRONOUS, loses: true }, (cluster) =>
    failOverLate(cluster, () => sleep(500)),
  ),
];

/** Of the embedded server. */
let embeddedFolder = '';

const EMBEDDED: FaultOptions = {
  prepare: async (cluster) => {
    await cluster.service[Symbol.asyncDispose]();
    embeddedFolder = await mkdtemp(join(tmpdir(), 'plant-store-faults-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(embeddedFolder, 0o755);
    await cluster.startEmbedded(embeddedFolder);
  },
  cleanup: async (cluster) => {
    cluster.service.signal('SIGTERM');
    await cluster.service.ended;
    await rm(embeddedFolder, { recursive: true });
    await cluster.startService();
  },
};
/** What the service and its network suffer. */
const MACHINE_FAULTS: readonly Fault[] = [
  fault('kill -9 of the embedded PostgreSQL: the service says so and ends, then a start', EMBEDDED, async (cluster) => {
    const { service } = cluster;
    const pid = await readFile(join(embeddedFolder, '.data/postgres/postmaster.pid'), 'utf8');
    process.kill(parseInt(pid, 10), 'SIGKILL');
    const code = await service.ended;
    if (code !== 1 || !service.stderr.includes('The embedded PostgreSQL has ended by itself'))
      throw new Error(`The service ended with ${code}: ${service.stderr}`);
    await cluster.startEmbedded(embeddedFolder);
  }),
  fault('kill -9 of the service, then a start', {}, (cluster) => cluster.restartService()),
  fault('stop of the service (SIGTERM), then a start', { answersAll: true }, async (cluster) => {
    cluster.service.signal('SIGTERM');
    const code = await cluster.service.ended;
    if (code !== 0) throw new Error(`The service ended with ${code}.`);
    await cluster.startService();
  }),
  fault('connections lost in the place of an answer, for 2 s', {}, ({ address }) =>
    repeat(2000, 50, () => {
      address.loseAnswers();
    }),
  ),
  fault('connections reset and refused for 1 s', {}, async ({ address }) => {
    address.reset();
    await sleep(1000);
    address.restore();
  }),
  fault('black hole for 7 s; then everything held back arrives', {}, async ({ address }) => {
    address.freeze();
    await sleep(7000);
    address.restore();
  }),
];

export const FAULTS = [...MACHINE_FAULTS, ...DATABASE_FAULTS];
