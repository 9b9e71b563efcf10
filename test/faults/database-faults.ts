import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, type Fault, repeat } from './cluster.js';

const SESSIONS = `FROM pg_stat_activity WHERE application_name = 'plant-store'`;
const cancelAll = (cluster: Cluster): Promise<unknown> => cluster.query(`SELECT pg_cancel_backend(pid) ${SESSIONS}`);
const terminateAll = (cluster: Cluster): Promise<unknown> =>
  cluster.query(`SELECT pg_terminate_backend(pid) ${SESSIONS}`);

/** Clients that leave the service no connection. */
const others: pg.Client[] = [];

/** First the standby ends, then the primary; the standby comes back alone. */
async function loseBoth({ primary, standby }: Cluster, between: () => Promise<unknown>): Promise<void> {
  await standby?.kill();
  await between();
  await primary.kill();
  await standby?.start();
}

/** What its processes, its sessions and its operators do to PostgreSQL. */
export const DATABASE_FAULTS: readonly Fault[] = [
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
    lasts: seconds * 1000,
    inject: ({ primary }: Cluster) => primary.signalAll('SIGSTOP'),
    restore: ({ primary }: Cluster) => primary.signalAll('SIGCONT'),
  })),
  { name: 'sessions terminated, for 2 s', lasts: 2000, every: 20, inject: terminateAll },
  { name: 'statements cancelled, for 2 s', lasts: 2000, every: 5, inject: cancelAll },
  {
    name: 'no connections left, for 3 s',
    lasts: 3000,
    every: 20,
    async inject(cluster) {
      // An attempt that is refused holds a slot for a moment, of those for superusers too.
      await terminateAll(cluster).catch(() => undefined);
      for (;;) {
        const client = new pg.Client(cluster.primary.url('plants')).on('error', () => undefined);
        others.push(client);
        const isFull = await client.connect().then(
          () => false,
          () => true,
        );
        if (isFull) return;
      }
    },
    restore: () => Promise.all(others.splice(0).map((client) => client.end().catch(() => undefined))),
  },
  {
    name: 'REINDEX CONCURRENTLY of the table, for 3 s',
    createsAll: true,
    lasts: 3000,
    every: 20,
    inject: (cluster) => cluster.query('REINDEX TABLE CONCURRENTLY plants'),
  },
  {
    name: 'server set to read-only for 2 s',
    lasts: 2000,
    inject: ({ primary }) => primary.set('default_transaction_read_only', 'on'),
    restore: ({ primary }) => primary.set('default_transaction_read_only', 'off'),
  },
  {
    name: 'address leads to a standby for 2 s; its connections are kept',
    lasts: 2000,
    prepare: (cluster) => cluster.addStandby('async'),
    inject({ address, standby, primary }) {
      address.leadTo((standby ?? primary).url('plants'));
      address.reset();
      address.restore();
    },
    restore({ address, primary }) {
      address.leadTo(primary.url('plants'));
    },
    cleanup: (cluster) => cluster.removeStandby(),
  },
  {
    name: 'failover to a synchronous standby',
    prepare: (cluster) => cluster.addStandby('sync'),
    inject: ({ primary }) => primary.kill(),
    restore: (cluster) => cluster.failOver(),
  },
  {
    name: 'synchronous standby away for 8 s, waiting commits cancelled, then failover to it',
    prepare: (cluster) => cluster.addStandby('sync'),
    inject: (cluster) =>
      loseBoth(cluster, async () => {
        await sleep(6000);
        // A commit that is cancelled is not undone: PostgreSQL answers it, with a warning that its standby lacks it.
        await repeat(1000, 50, () => cancelAll(cluster));
        await repeat(1000, 50, () => terminateAll(cluster));
      }),
    restore: (cluster) => cluster.failOver(),
  },
  {
    name: 'failover to an asynchronous standby, 0.5 s behind',
    loses: true,
    prepare: (cluster) => cluster.addStandby('async'),
    inject: (cluster) => loseBoth(cluster, () => sleep(500)),
    restore: (cluster) => cluster.failOver(),
  },
];
