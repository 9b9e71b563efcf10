import { expect } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';
import { type Cluster, type Fault, SESSIONS, type Step } from './cluster.js';

const NEWER_BUILD = fileURLToPath(new URL('newer-build.cjs', import.meta.url));
/** The session of a killed program ends when the server notices. */
const MIGRATING = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 72707369`;

/** Does it again and again, with a pause of as many milliseconds. */
async function repeat(duration: number, pause: number, work: () => unknown): Promise<void> {
  const end = performance.now() + duration;
  while (performance.now() < end) {
    await work();
    await sleep(pause);
  }
}

const stopServer =
  (milliseconds: number): Step =>
  async ({ primary }) => {
    await primary.signalAll('SIGSTOP');
    await sleep(milliseconds);
    await primary.signalAll('SIGCONT');
  };

const stopService =
  (signal: NodeJS.Signals): Step =>
  async (cluster) => {
    expect(await cluster.restartService(signal)).toBe(0);
  };

/** Runs `migrate` of a newer build, which has a migration that the database lacks. */
function migrate({ primary }: Cluster, variables: Record<string, string> = {}): Promise<PlantStoreProcess> {
  const NODE_OPTIONS = `--require ${NEWER_BUILD}`;
  return PlantStoreProcess.run('migrate', { DATABASE_URL: primary.url(), NODE_OPTIONS, ...variables });
}

/** It must succeed. Of half a migration the column would be missing afterwards, or be there before. */
async function completeMigration(cluster: Cluster): Promise<void> {
  expect(await (await migrate(cluster)).ended).toBe(0);
  await cluster.query(`ALTER TABLE plants DROP COLUMN height;
    DELETE FROM _prisma_migrations WHERE migration_name = '29990101000000_add_height'`);
}

const shell = (script: string, ...args: string[]): Promise<unknown> =>
  promisify(execFile)('sh', ['-ec', script, 'sh', ...args]);

/** A folder of the server is on a small disk of its own, which becomes full. */
function fullDisk(folder: string, size: string, meanwhile: Step): Fault {
  const path = ({ primary }: Cluster): string => join(primary.data, folder);
  const whileStopped = async ({ primary }: Cluster, script: string, ...args: string[]): Promise<void> => {
    await primary.end('SIGINT');
    await shell(script, ...args);
    await primary.start();
  };
  return {
    needsRoot: true,
    prepare: (cluster) => {
      const { uid = 0, gid = 0 } = cluster.primary.account;
      const script =
        'mv "$1" "$1.aside"; mkdir "$1"; mount -t tmpfs -o "$2" tmpfs "$1"; cp -a "$1.aside/." "$1"; rm -r "$1.aside"';
      return whileStopped(cluster, script, path(cluster), `size=${size},uid=${uid},gid=${gid},mode=700`);
    },
    happen: async (cluster) => {
      await shell('dd if=/dev/zero of="$1/filler" bs=64k || true', path(cluster));
      await meanwhile(cluster);
      await rm(join(path(cluster), 'filler'));
      await cluster.primary.start();
    },
    cleanup: (cluster) =>
      whileStopped(cluster, 'cp -a "$1" "$1.aside"; umount "$1"; rmdir "$1"; mv "$1.aside" "$1"', path(cluster)),
  };
}

/** By name, as in docs/faults.md. */
export const FAULTS: Readonly<Record<string, Step | Fault>> = {
  'kill -9 of PostgreSQL, then a start': async ({ primary }) => {
    await primary.kill();
    await primary.start();
  },
  'kill -9 of one session: PostgreSQL recovers': async ({ primary }) => {
    const witness = new pg.Client(primary.url()).on('error', () => undefined);
    await witness.connect();
    const { rows } = await witness.query<{ pid: number }>(`SELECT pid ${SESSIONS} LIMIT 1`);
    process.kill(Number(rows[0]?.pid), 'SIGKILL');
    // PostgreSQL ends all sessions when it has noticed.
    await new Promise((resolve) => witness.once('end', resolve));
  },
  'immediate restart of PostgreSQL': async ({ primary }) => {
    await primary.end('SIGQUIT');
    await primary.start();
  },
  'PostgreSQL stopped (SIGSTOP) for 3 s': stopServer(3000),
  'PostgreSQL stopped (SIGSTOP) for 20 s': stopServer(20_000),
  'kill -9 of the embedded PostgreSQL: the service says so and ends, then a start': {
    prepare: (cluster) => cluster.restartService('SIGTERM', { DATABASE_URL: '' }),
    happen: async (cluster) => {
      const { service, folder } = cluster;
      process.kill(parseInt(await readFile(join(folder, '.data/postgres/postmaster.pid'), 'utf8'), 10), 'SIGKILL');
      expect(await service.ended).toBe(1);
      expect(service.stderr).toContain('The embedded PostgreSQL has ended by itself (SIGKILL)');
      await cluster.startService({ DATABASE_URL: '' });
    },
    cleanup: (cluster) => cluster.restartService('SIGTERM'),
  },
  'kill -9 of the service, then a start': (cluster) => cluster.restartService('SIGKILL'),
  'stop of the service (SIGTERM), then a start': { happen: stopService('SIGTERM'), answersAll: true },
  'stop of the service (SIGHUP), then a start': { happen: stopService('SIGHUP'), answersAll: true },
  'heap of 128 MB, 64 clients with large bodies for 5 s': {
    answersAll: true,
    prepare: (cluster) => cluster.restartService('SIGTERM', { NODE_OPTIONS: '--max-old-space-size=128' }),
    happen: async ({ service }) => {
      // Two bytes a character in memory. Ids below those of the probes: the load's own are positive.
      let id = -1_000_000_000;
      const name = `${'x'.repeat(1_000_000)}ж`;
      const post = (): Promise<void> => repeat(5000, 0, () => service.post(JSON.stringify({ id: --id, name })));
      await Promise.all(Array.from({ length: 64 }, post));
      expect(service.isRunning).toBe(true);
    },
    cleanup: (cluster) => cluster.restartService('SIGTERM'),
  },
  'sessions terminated, for 2 s': (cluster) => repeat(2000, 20, () => cluster.disturb('pg_terminate_backend')),
  'statements cancelled, for 2 s': (cluster) => repeat(2000, 5, () => cluster.disturb('pg_cancel_backend')),
  'table locked for 7 s': (cluster) => cluster.query('BEGIN; LOCK TABLE plants; SELECT pg_sleep(7); COMMIT'),
  'no connections left, for 3 s': async (cluster) => {
    await cluster.query('ALTER ROLE plants CONNECTION LIMIT 0');
    await repeat(3000, 20, () => cluster.disturb('pg_terminate_backend'));
    await cluster.query('ALTER ROLE plants CONNECTION LIMIT -1');
  },
  'migrate while a reader keeps the table, and again when it does not': {
    createsAll: true,
    happen: async (cluster) => {
      const reader = new pg.Client(cluster.primary.url());
      await reader.connect();
      await reader.query('BEGIN; SELECT count(*) FROM plants');
      const { ended, output } = await migrate(cluster);
      await reader.end();
      expect([await ended, output]).toEqual([1, expect.stringContaining('is locked')]);
      await completeMigration(cluster);
    },
  },
  'kill -9 of migrate at each of its statements, then migrate': {
    createsAll: true,
    happen: async (cluster) => {
      for (let statement = 1, code: unknown = 'SIGKILL'; code === 'SIGKILL'; statement++) {
        code = await (await migrate(cluster, { KILL_AT: String(statement) })).ended;
        expect(['SIGKILL', 0]).toContain(code);
        await until(async () => (await cluster.query(MIGRATING)).length === 0);
        await completeMigration(cluster);
      }
    },
  },
  'REINDEX of the table, for 3 s': {
    createsAll: true,
    happen: (cluster) => repeat(3000, 20, () => cluster.query('REINDEX TABLE plants')),
  },
  'REINDEX CONCURRENTLY of the table, for 3 s': {
    createsAll: true,
    happen: (cluster) => repeat(3000, 20, () => cluster.query('REINDEX TABLE CONCURRENTLY plants')),
  },
  'ALTER TYPE of columns, for 3 s': {
    createsAll: true,
    happen: (cluster) =>
      repeat(3000, 50, async () => {
        for (const type of ['varchar(1000)', 'text']) {
          const changes = ['name', 'tag', 'idempotency_key'].map((column) => `ALTER ${column} TYPE ${type}`);
          await cluster.query(`ALTER TABLE plants ${changes.join(', ')}`);
        }
      }),
  },
  'connections lost in the place of an answer, for 2 s': ({ address }) =>
    repeat(2000, 50, () => {
      address.loseAnswers();
    }),
  'connections reset and refused for 1 s': async ({ address }) => {
    address.reset();
    await sleep(1000);
    address.restore();
  },
  'answers trickle, 2 bytes a millisecond, for 3 s': async ({ address }) => {
    address.trickle = 2;
    await sleep(3000);
    address.restore();
  },
  'black hole for 7 s; then everything held back arrives': async ({ address }) => {
    address.freeze();
    await sleep(7000);
    address.restore();
  },
  'disk of the WAL full: PostgreSQL ends, is started with room again': fullDisk('pg_wal', '112m', async (cluster) => {
    // The load alone would need a while for what is left of the present segment.
    const write = `SELECT pg_logical_emit_message(false, 'faults', repeat('x', 1000000))`;
    while (await cluster.query(write).catch(() => undefined));
    await sleep(1000);
  }),
  'disk of the table full, for 2 s': fullDisk('base', '96m', () => sleep(2000)),
  'server set to read-only for 2 s': async ({ primary }) => {
    await primary.set('default_transaction_read_only', 'on');
    await sleep(2000);
    await primary.set('default_transaction_read_only', 'off');
  },
  'address leads to a standby for 2 s; its connections are kept': {
    prepare: (cluster) => cluster.addStandby('async'),
    happen: async ({ address, standby, primary }) => {
      address.leadTo((standby ?? primary).url('plants'));
      address.reset();
      address.restore();
      await sleep(2000);
      address.leadTo(primary.url('plants'));
    },
  },
  'failover to a synchronous standby': {
    prepare: (cluster) => cluster.addStandby('sync'),
    happen: (cluster) => cluster.failOver(),
  },
  'synchronous standby away for 8 s, waiting commits cancelled, then failover to it': {
    prepare: (cluster) => cluster.addStandby('sync'),
    happen: (cluster) =>
      cluster.failOverLate(async () => {
        await sleep(6000);
        // A commit that is cancelled is not undone: PostgreSQL answers it, with a warning that its standby lacks it.
        await repeat(1000, 50, () => cluster.disturb('pg_cancel_backend'));
        await repeat(1000, 50, () => cluster.disturb('pg_terminate_backend'));
      }),
  },
  'failover to an asynchronous standby, 0.5 s behind': {
    loses: true,
    prepare: (cluster) => cluster.addStandby('async'),
    happen: (cluster) => cluster.failOverLate(() => sleep(500)),
  },
};
