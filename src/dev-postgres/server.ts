import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { PostgresBinaries } from './binaries.js';
import { EmbeddedPostgresError, hasCode } from './errors.js';
import type { ServerHome, ServerUser } from './server-home.js';

const run = promisify(execFile);

/** The port may be taken between our look and PostgreSQL's, and processes of a killed server need a moment to end. */
const MAX_STARTS = 5;
/** A longer fast shutdown is cut short; PostgreSQL then recovers from its log at the next start. */
const SHUTDOWN_TIMEOUT_MS = 30_000;
const SETTINGS: ServerSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
};

export type ServerSettings = Readonly<Record<string, string | number>>;

/** The running PostgreSQL server. Its caller holds the lock of the home. */
export class Postmaster {
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly pid: number,
    private readonly binaries: PostgresBinaries,
    readonly port: number,
  ) {
    this.ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  }

  /** @param own instead of ours; with `port` it continues a server that clients know, and its log */
  static async start(home: ServerHome, binaries: PostgresBinaries, own: ServerSettings = {}): Promise<Postmaster> {
    const orphan = await readPidFile(home.data);
    if (orphan && (await isServerOf(home.data, orphan.pid)))
      await shutDown(orphan.pid, binaries, untilGone(orphan.pid, home.data));
    if (own.port === undefined) await rename(home.logFile, `${home.logFile}.1`).catch(() => undefined);
    for (let attempt = 1; attempt <= MAX_STARTS; attempt++) {
      await disownPidFile(home.data);
      const postmaster = await Postmaster.spawn(home, binaries, { port: await freePort(), ...own });
      if (await postmaster.becomesReady(home.data)) return postmaster;
      await sleep(50 * attempt);
    }
    const lines = (await readFile(home.logFile, 'utf8')).trim().split('\n').slice(-10);
    throw new EmbeddedPostgresError(
      `PostgreSQL did not start on the data in ${home.data}. The end of its log, ${home.logFile}:\n${lines.join('\n')}`,
    );
  }

  async stop(): Promise<void> {
    if (this.hasEnded()) return;
    this.child.ref();
    await shutDown(this.pid, this.binaries, this.ended);
  }

  private static async spawn(home: ServerHome, binaries: PostgresBinaries, own: ServerSettings): Promise<Postmaster> {
    const options = Object.entries({ ...SETTINGS, ...own }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawnProgram(binaries.postgres, ['-D', home.data, ...options], home.user, home.data, home.logFile);
    await once(child, 'spawn');
    // A process that ends without stop() must not hang: its server ends by itself then, or is found at the next start.
    child.unref();
    const end = (): unknown => child.kill('SIGINT');
    if (process.platform !== 'win32') process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    return new Postmaster(child, child.pid ?? 0, binaries, Number(own.port));
  }

  private async becomesReady(dataDirectory: string): Promise<boolean> {
    while (!this.hasEnded()) {
      const state = await readPidFile(dataDirectory);
      if (state?.pid === this.pid && state.ready) return true;
      await sleep(10);
    }
    return false;
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}

/**
 * Reads PostgreSQL's own `postmaster.pid`, a value a line: the first is the process, the fourth its port, the eighth its state.
 * Undefined if there is no file, or no process in it.
 */
export async function readPidFile(
  dataDirectory: string,
): Promise<{ pid: number; port: number | undefined; ready: boolean } | undefined> {
  const lines = (await readIfExists(pidFileOf(dataDirectory)))?.split('\n') ?? [];
  // The number of a single-user server is kept negative.
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]) || undefined, ready: lines[7]?.trim() === 'ready' };
}

/**
 * For the file of a server that is gone: lets the next one start, even if another program now has the old number. PostgreSQL
 * takes a file with its parent's number for stale. Without the file it would not find the shared memory in which
 * processes of a killed server may still be at work.
 */
export async function disownPidFile(dataDirectory: string): Promise<void> {
  const path = pidFileOf(dataDirectory);
  const text = await readIfExists(path);
  if (text === undefined) return;
  // On Windows PostgreSQL has no use for its parent's number, and finds the memory by the name of the directory.
  const keeps = process.platform !== 'win32' && (await readPidFile(dataDirectory)) !== undefined;
  if (keeps) await writeFile(path, text.replace(/^.*/, String(process.pid)));
  else await rm(path, { force: true });
}

function pidFileOf(dataDirectory: string): string {
  return join(dataDirectory, 'postmaster.pid');
}

/** Whether that process is the server of that data directory, and no other program that was given its number since. */
export async function isServerOf(dataDirectory: string, pid: number): Promise<boolean> {
  const command = await commandLine(pid).catch(() => '');
  return command.includes('postgres') && command.includes(` -D ${dataDirectory} `);
}

/** The program and its arguments, separated by spaces. */
async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  if (process.platform !== 'win32') return (await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
  const query = `(Get-CimInstance Win32_Process -Filter "ProcessId=${pid}").CommandLine`;
  const { stdout } = await run('powershell', ['-NoProfile', '-Command', query], { windowsHide: true });
  return stdout.replaceAll('"', '');
}

/** Starts a program of PostgreSQL as that user, in a folder, and appends what it prints to a file. */
export function spawnProgram(
  program: string,
  args: readonly string[],
  user: ServerUser,
  folder: string,
  output: string,
): ChildProcess {
  const file = openSync(output, 'a', 0o600);
  try {
    return spawn(program, args, {
      ...user.ids,
      cwd: folder,
      env: serverEnvironment(),
      stdio: ['ignore', file, file],
      windowsHide: true,
      // Not in the terminal's process group: Ctrl-C is for the service, which still has requests to finish.
      detached: true,
    });
  } finally {
    closeSync(file);
  }
}

/**
 * What PostgreSQL sees of our environment: neither our secrets, which its user could read, nor PG* variables meant for
 * other servers; and messages in English, so that users can search for them.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'TZ', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'LD_LIBRARY_PATH'];
  return { ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])), LC_ALL: 'C' };
}

export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Ends a server: clients are sent away, transactions rolled back, everything written; then waits for `ended`. */
async function shutDown(pid: number, binaries: PostgresBinaries, ended: Promise<unknown>): Promise<void> {
  await signal(pid, 'INT', binaries);
  const timer = setTimeout(() => {
    signal(pid, 'QUIT', binaries).catch(() => undefined);
  }, SHUTDOWN_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

async function signal(pid: number, name: 'INT' | 'QUIT', binaries: PostgresBinaries): Promise<void> {
  // Windows has no signals, and what Node does there in their place is to end the process at once.
  if (process.platform === 'win32') {
    await run(binaries.pgCtl, ['kill', name, String(pid)], { windowsHide: true }).catch(() => undefined);
    return;
  }
  try {
    process.kill(pid, `SIG${name}`);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}

async function untilGone(pid: number, dataDirectory: string): Promise<void> {
  while (await isServerOf(dataDirectory, pid)) await sleep(10);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
