import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, EmbeddedPostgresError } from './binaries.js';

/** Another program may take the port before PostgreSQL does. */
const MAX_STARTS = 5;
/**
 * The end of this process closes descriptor 3, even after a kill. A shell that waits for that sends the program a
 * SIGINT. It is no child of the program, because PostgreSQL would take it for one of its own processes.
 */
const RUN_UNTIL_CLOSED = '((read -r end <&3; kill -INT $$) 2>/dev/null 4<&- &) && exec "$@" 3<&-';

/** A server and what it needs to run. */
export interface PostgresInstance {
  /** The folder of the data and the log. */
  readonly folder: string;
  /** The folder of the programs. */
  readonly programs: string;
  readonly account: Account;
  /** The lock lasts until all processes that have its descriptor have ended. */
  readonly lock: { readonly fd: number };
}

export type ServerSettings = Readonly<Record<string, string | number>>;

export function dataDirectoryIn(folder: string): string {
  return join(folder, 'postgres');
}

/** Starts a program that ends with this process at the latest. @param output the file for what it prints */
export async function spawnProgram(
  { programs, account, lock }: PostgresInstance,
  program: 'initdb' | 'postgres',
  args: readonly string[],
  output: string,
): Promise<ChildProcess> {
  await using file = await open(output, 'a', 0o600);
  const child = spawn('/bin/sh', ['-c', RUN_UNTIL_CLOSED, 'sh', join(programs, program), ...args], {
    ...account,
    cwd: '/',
    env: serverEnvironment(),
    stdio: ['ignore', file.fd, file.fd, 'pipe', lock.fd],
    // Ctrl-C is for the service, which still answers requests, so the program leaves its process group.
    detached: true,
  });
  child.once('exit', () => child.stdio[3]?.destroy());
  await once(child, 'spawn');
  return child;
}

/**
 * The environment of PostgreSQL. Its user must not read our secrets, and PG* variables are for other servers. English
 * messages are easier to search for.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH'];
  return { ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])), LC_ALL: 'C' };
}

/** The last lines of the output, for the message about a failure. */
export async function tailOf(output: string): Promise<string> {
  return (await readFile(output, 'utf8')).trim().split('\n').slice(-10).join('\n');
}

/** Starts the server and waits until it accepts connections. The folder must be locked. */
export async function startServer(
  instance: PostgresInstance,
  settings: ServerSettings,
): Promise<{ child: ChildProcess; port: number }> {
  const data = dataDirectoryIn(instance.folder);
  const pidFile = join(data, 'postmaster.pid');
  const log = `${data}.log`;
  await rename(log, `${log}.1`).catch(() => undefined);
  for (let attempt = 1; attempt <= MAX_STARTS; attempt++) {
    await claimPidFile(pidFile);
    const port = await freePort();
    const own = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, ...settings };
    const args = Object.entries(own).map(([name, value]) => `--${name}=${value}`);
    const child = await spawnProgram(instance, 'postgres', ['-D', data, ...args], log);
    if (await becomesReady(child, pidFile)) return { child, port };
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL did not start on the data in ${data}. The end of its log, ${log}:\n${await tailOf(log)}`,
  );
}

/** The pid file of PostgreSQL has one value a line. The first is the process, the eighth its state. */
async function becomesReady(child: ChildProcess, pidFile: string): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return true;
    await sleep(10);
  }
  return false;
}

/**
 * Writes our process id into a stale pid file. We hold the lock, so that server is gone, but another program may have
 * its id. PostgreSQL ignores the id of its parent. Without the file, it would not look for processes of that server.
 */
async function claimPidFile(pidFile: string): Promise<void> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  // The id of a single-user server is negative.
  if (/^-?[1-9]/.test(text)) await writeFile(pidFile, text.replace(/^.*/, String(process.pid)));
  else await rm(pidFile, { force: true });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
