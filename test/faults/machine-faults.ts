import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Cluster, type Fault, fault, type FaultOptions } from './cluster.js';
import { repeat } from './database-faults.js';

/** Runs a script whose `$1`, `$2` and so on are these arguments. */
const shell = (script: string, ...args: string[]): Promise<unknown> =>
  promisify(execFile)('sh', ['-ec', script, 'sh', ...args]);

const walOf = ({ primary }: Cluster): string => join(primary.data, 'pg_wal');
/** The options of `mount` for a disk of the server's user. */
const diskOf = ({ primary: { account } }: Cluster, size: string): string =>
  `size=${size},uid=${account.uid ?? 0},gid=${account.gid ?? 0},mode=700`;
/** Takes all the room that a disk has left. */
const fill = (folder: string): Promise<unknown> => shell('dd if=/dev/zero of="$1/filler" bs=64k || true', folder);
const empty = (folder: string): Promise<void> => rm(join(folder, 'filler'));
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
const SMALL_DISK_FOR_WAL: FaultOptions = {
  needsRoot: true,
  prepare: async (cluster) => {
    await cluster.primary.end('SIGINT');
    const move =
      'mv "$1" "$1.aside" && mkdir "$1" && mount -t tmpfs -o "$2" tmpfs "$1" && cp -a "$1.aside/." "$1" && rm -r "$1.aside"';
    await shell(move, walOf(cluster), diskOf(cluster, '112m'));
    await cluster.primary.start();
  },
  cleanup: async (cluster) => {
    await cluster.primary.end('SIGINT');
    await shell('cp -a "$1" "$1.aside" && umount "$1" && rmdir "$1" && mv "$1.aside" "$1"', walOf(cluster));
    await cluster.primary.start();
  },
};
/** What the service, its network and the disk of the database suffer. */
export const MACHINE_FAULTS: readonly Fault[] = [
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
  fault('disk of the WAL full: PostgreSQL ends, is started with room again', SMALL_DISK_FOR_WAL, async (cluster) => {
    await fill(walOf(cluster));
    // The load alone would need a while for what is left of the present segment.
    const write = `SELECT pg_logical_emit_message(false, 'faults', repeat('x', 1000000))`;
    while (await cluster.query(write).catch(() => undefined));
    await sleep(1000);
    await empty(walOf(cluster));
    await cluster.primary.start();
  }),
];
