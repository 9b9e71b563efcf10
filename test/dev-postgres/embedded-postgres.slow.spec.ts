import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { EmbeddedPostgres } from '../../src/dev-postgres/embedded-postgres.js';
import { EmbeddedPostgresError } from '../../src/dev-postgres/errors.js';
import { ServerOwners } from '../support/database/server-owners.js';

// Under another user there is no folder that only root can enter: these are then shown as skipped.
const itAsRoot = process.getuid?.() === 0 ? it : it.skip;

describe(EmbeddedPostgres.name, () => {
  const owners = new ServerOwners();
  let directory: string;

  async function makeDirectory(): Promise<void> {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-embedded-'));
    // A new temporary folder is one that only its owner can enter.
    await chmod(directory, 0o755);
  }

  const removeDirectory = () => rm(directory, { recursive: true, force: true });

  afterEach(() => owners.endAll());

  async function withServer<T>(work: (server: EmbeddedPostgres) => Promise<T>, folder = directory): Promise<T> {
    const server = await EmbeddedPostgres.start({ directory: folder });
    try {
      return await work(server);
    } finally {
      await server.stop();
    }
  }

  async function query(url: string, sql: string): Promise<unknown[]> {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat();
    } finally {
      await client.end();
    }
  }

  const remember = (url: string) => query(url, 'CREATE TABLE memory AS SELECT 42 AS answer');
  const recall = (url: string) => query(url, 'SELECT answer FROM memory');

  describe('in a folder with data', () => {
    beforeAll(async () => {
      await makeDirectory();
      await withServer(({ url }) => remember(url));
    });

    afterAll(removeDirectory);

    it('should have kept them', async () => {
      expect(await withServer(({ url }) => recall(url))).toEqual([42]);
    });

    it('should give a database "plants" of UTF-8 with durable commits, on the loopback interface alone', async () => {
      const settings = ['server_encoding', 'fsync', 'synchronous_commit', 'listen_addresses', 'password_encryption'];
      const sql = `SELECT current_database(), ${settings.map((name) => `current_setting('${name}')`).join(', ')}`;
      const expected = ['plants', 'UTF8', 'on', 'on', '127.0.0.1', 'scram-sha-256'];

      expect(await withServer(({ url }) => query(url, sql))).toEqual(expected);
    });

    it('should refuse a wrong password, and keep the right one from other users', async () => {
      await withServer(async ({ url, location }) => {
        const wrong = new URL(url);
        wrong.password = 'wrong';

        await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
        expect((await stat(join(dirname(location), 'postgres.password'))).mode & 0o777).toBe(0o600);
      });
    });

    it('should refuse a second server under any name of the folder, and say who is there', async () => {
      const first = await owners.start(directory);
      const otherName = `${tmpdir()}/./${basename(directory)}`;
      const second = EmbeddedPostgres.start({ directory: otherName });

      await expect(second).rejects.toThrow(EmbeddedPostgresError);
      await expect(second).rejects.toThrow(
        `Another plant store (process ${first.owner.pid ?? 0}) is running with the data in ${otherName}.`,
      );
      expect(await recall(first.url)).toEqual([42]);
    });

    it('should start after its owner was killed, though the server lived on', async () => {
      const first = await owners.start(directory);
      await owners.end(first.owner, 'kill');
      expect(await recall(first.url)).toEqual([42]);

      expect(await withServer(({ url }) => recall(url))).toEqual([42]);
      await expect(recall(first.url)).rejects.toThrow('ECONNREFUSED');
    });

    it('should start after both its owner and the server were killed', async () => {
      const first = await owners.start(directory);
      await owners.end(first.owner, 'kill');
      const [pid] = (await readFile(join(first.location, 'postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGKILL');

      expect(await withServer(({ url }) => recall(url))).toEqual([42]);
    });

    it('should leave the server out of what the terminal sends to the process group of its owner', async () => {
      const { url, owner } = await owners.start(directory);
      process.kill(-(owner.pid ?? 0), 'SIGINT');
      await owners.end(owner);

      expect(await recall(url)).toEqual([42]);
      // Which ends it.
      await withServer(() => Promise.resolve());
    });

    it.each([
      ['names a process that is something else now', (text: string, pid: number) => text.replace(/^\d+/, String(pid))],
      ['was written by half', (text: string) => text.slice(0, 2)],
      ['is empty', () => ''],
    ])('should start when a stale postmaster.pid %s', async (_, spoil) => {
      const { text, location } = await withServer(async (server) => ({
        location: server.location,
        text: await readFile(join(server.location, 'postmaster.pid'), 'utf8'),
      }));
      const { uid, gid } = await stat(location);
      // PostgreSQL takes a process of its own user for a server that still runs.
      const stranger = owners.spawn('/bin/sh', ['-c', 'read line'], { uid, gid });
      const stale = join(location, 'postmaster.pid');
      await writeFile(stale, spoil(text, stranger.pid ?? 0), { mode: 0o600 });
      await chown(stale, uid, gid);

      expect(await withServer(({ url }) => recall(url))).toEqual([42]);
      expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    });
  });

  describe('in a new folder', () => {
    beforeEach(makeDirectory);

    afterEach(async () => {
      await owners.endAll();
      await removeDirectory();
    });

    it('should let exactly one of several have it that start at once', async () => {
      const started = await Promise.all([1, 2, 3].map(() => owners.start(directory)));

      expect(started.filter(({ error }) => error === undefined)).toHaveLength(1);
    });

    it('should start after its owner was killed in the first start', async () => {
      const owner = owners.begin(directory);
      while (!(await readdir(directory)).some((entry) => entry.startsWith('.postgres-init-'))) await setTimeout(1);
      await owners.end(owner, 'kill');

      expect(await withServer(({ url }) => query(url, 'SELECT 1'))).toEqual([1]);
      expect(await readdir(directory)).toEqual(['postgres', 'postgres.log', 'postgres.password']);
    });

    it('should quote the log of a server that does not start, and free the folder', async () => {
      const location = await withServer((server) => Promise.resolve(server.location));
      const file = join(location, 'postgresql.auto.conf');
      await writeFile(file, 'nonsense = 1\n');

      await expect(EmbeddedPostgres.start({ directory })).rejects.toThrow(
        /did not start on the data in .*unrecognized configuration parameter "nonsense"/s,
      );
      await writeFile(file, '');
      expect(await withServer(({ url }) => query(url, 'SELECT 1'))).toEqual([1]);
    });

    it('should say that something else is in the place of its data', async () => {
      await mkdir(join(directory, 'postgres'));

      await expect(EmbeddedPostgres.start({ directory })).rejects.toThrow(
        /postgres is not a PostgreSQL data directory/,
      );
    });

    itAsRoot('should keep the data elsewhere, and say where, if only root can enter it', async () => {
      await chmod(directory, 0o700);
      const inner = join(directory, '.data');
      const { url, location, log, owner } = await owners.start(inner);
      try {
        await remember(url);

        expect(location.startsWith(directory)).toBe(false);
        expect(log).toEqual([expect.stringContaining(location)]);
        await expect(EmbeddedPostgres.start({ directory: inner })).rejects.toThrow('Another plant store');
        await owners.end(owner);
        // They stay where they are, though the folder is open now.
        await chmod(directory, 0o755);
        expect(await withServer(({ url }) => recall(url), inner)).toEqual([42]);
      } finally {
        await owners.end(owner);
        await rm(dirname(location), { recursive: true, force: true });
        // Where other folders have their data, it is not empty and stays.
        await rmdir(dirname(dirname(location))).catch(() => undefined);
      }
    });
  });
});
