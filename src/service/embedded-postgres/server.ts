import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, EmbeddedPostgresError } from './binaries.js';

/** The port may be taken between our look and PostgreSQL's. */
const MAX_STARTS = 5;
/**
 * The program gets a SIGINT when its descriptor 3 is closed, which the end of this process does, a kill too. The shell that waits for
 * it is no child of the program: PostgreSQL would take it for one of its own processes.
 */
const RUN_UNTIL_CLOSED = '((read -r end <&3; kill -INT $$) 2>/dev/null 4<&- &) && exec "$@" 3<&-';

/** Where a server runs, and how. */
export interface Place {
  /** Of the data and the log. */
  readonly folder: string;
  /** The folder of PostgreSQL's programs. */
  readonly programs: string;
  readonly account: Account;
  /** Held until this process and all those that have inherited its descriptor have ended. */
  readonly lock: { readonly fd: number };
}

export type ServerSettings = Readonly<Record<string, string | number>>;

export function dataIn(folder: string): string {
  return join(folder, 'postgres');
}

/** Starts a program of PostgreSQL that ends at the latest with this process. @param output the file that gets what it prints */
export async function spawnProgram(
  { programs, account, lock }: Place,
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
    // Not in the terminal's process group: Ctrl-C is for the service, which still has requests to finish.
    detached: true,
  });
  child.once('exit', () => child.stdio[3]?.destroy());
  await once(child, 'spawn');
  return child;
}

/**
 * What PostgreSQL sees of our environment: neither our secrets, which its user could read, nor PG* variables meant for
 * other servers; and messages in English, so that users can search for them.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH'];
  return { ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])), LC_ALL: 'C' };
}

/** What a program has printed last, for the message on its failure. */
export async function endOf(output: string): Promise<string> {
  return (await readFile(output, 'utf8')).trim().split('\n').slice(-10).join('\n');
}

/** Starts the server of a folder whose lock we hold, and waits until it takes connections. */
export async function startServer(
  place: Place,
  settings: ServerSettings,
): Promise<{ child: ChildProcess; port: number }> {
  const data = dataIn(place.folder);
  const pidFile = join(data, 'postmaster.pid');
  const log = `${data}.log`;
  await rename(log, `${log}.1`).catch(() => undefined);
  for (let attempt = 1; attempt <= MAX_STARTS; attempt++) {
    await disown(pidFile);
    const port = await freePort();
    const own = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, ...settings };
    const args = Object.entries(own).map(([name, value]) => `--${name}=${value}`);
    const child = await spawnProgram(place, 'postgres', ['-D', data, ...args], log);
    if (await becomesReady(child, pidFile)) return { child, port };
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL did not start on the data in ${data}. The end of its log, ${log}:\n${await endOf(log)}`,
  );
}

/** PostgreSQL's pid file has a value a line: the first is the process, the eighth its state. */
async function becomesReady(child: ChildProcess, pidFile: string): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return true;
    await sleep(10);
  }
  return false;
}

/**
 * We hold the lock, so that the server of this file is gone, though another program may have its number now. PostgreSQL takes a file
 * with its parent's number for stale. Without the file it would not look whether processes of a killed server still use the data.
 */
async function disown(pidFile: string): Promise<void> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  // The number of a single-user server is negative.
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
