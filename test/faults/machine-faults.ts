import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Cluster, Fault } from './cluster.js';

/** Runs a script whose `$1`, `$2` and so on are these arguments. */
const shell = (script: string, ...args: string[]): Promise<unknown> =>
  promisify(execFile)('sh', ['-ec', script, 'sh', ...args]);

const tablespaceOf = ({ primary }: Cluster): string => join(primary.folder, 'tablespace');
/** The options of `mount` for a disk of the server's user. */
const diskOf = ({ primary: { account } }: Cluster, size: string): string =>
  `size=${size},uid=${account.uid ?? 0},gid=${account.gid ?? 0},mode=700`;
/** Takes all the room that a disk has left. */
const fill = (folder: string): Promise<unknown> => shell('dd if=/dev/zero of="$1/filler" bs=64k || true', folder);
const empty = (folder: string): Promise<void> => rm(join(folder, 'filler'));
const moveTable = (cluster: Cluster, tablespace: string): Promise<unknown> =>
  cluster.query(
    `ALTER TABLE plants SET TABLESPACE ${tablespace}; ALTER INDEX plants_pkey SET TABLESPACE ${tablespace}`,
  );

const restoreAddress = ({ address }: Cluster): void => {
  address.restore();
};

/** What the service, its memory, its network and the disks of the database suffer. */
export const MACHINE_FAULTS: readonly Fault[] = [
  {
    name: 'kill -9 of the service, then a start',
    endsService: true,
    inject: ({ service }) => service[Symbol.asyncDispose](),
    restore: (cluster) => cluster.startService(),
  },
  {
    name: 'stop of the service (SIGTERM), then a start',
    endsService: true,
    answersAll: true,
    async inject({ service }) {
      service.signal('SIGTERM');
      const code = await service.ended;
      if (code !== 0) throw new Error(`The service ended with ${code}.`);
    },
    restore: (cluster) => cluster.startService(),
  },
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
  {
    name: 'connections lost in the place of an answer, for 2 s',
    lasts: 2000,
    every: 50,
    inject({ address }) {
      address.loseAnswers();
    },
  },
  {
    name: 'connections reset and refused for 1 s',
    lasts: 1000,
    inject({ address }) {
      address.reset();
    },
    restore: restoreAddress,
  },
  {
    name: 'black hole for 7 s; then everything held back arrives',
    lasts: 7000,
    inject({ address }) {
      address.freeze();
    },
    restore: restoreAddress,
  },
  {
    name: 'disk of the table full, for 2 s',
    needsRoot: true,
    async prepare(cluster) {
      await shell('mkdir "$1" && mount -t tmpfs -o "$2" tmpfs "$1"', tablespaceOf(cluster), diskOf(cluster, '32m'));
      await cluster.query(`CREATE TABLESPACE small LOCATION '${tablespaceOf(cluster)}'`);
      await moveTable(cluster, 'small');
    },
    lasts: 2000,
    inject: (cluster) => fill(tablespaceOf(cluster)),
    restore: (cluster) => empty(tablespaceOf(cluster)),
    async cleanup(cluster) {
      await moveTable(cluster, 'pg_default');
      await cluster.query('DROP TABLESPACE small');
      await shell('umount "$1" && rmdir "$1"', tablespaceOf(cluster));
    },
  },
];
