import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { hasCode } from './has-code.js';
import type { PostgresPrograms } from './postgres-programs.js';

const run = promisify(execFile);

/** After that long a fast shutdown is cut short; PostgreSQL then recovers from its log at the next start. */
const PATIENCE_MS = 30_000;

/** Ends a server: clients are sent away, transactions rolled back, everything written; then waits for `ended`. */
export async function shutDown(pid: number, programs: PostgresPrograms, ended: Promise<unknown>): Promise<void> {
  await signal(pid, 'INT', programs);
  const waiting = new AbortController();
  const impatience = setTimeout(PATIENCE_MS, undefined, { signal: waiting.signal }).then(
    () => signal(pid, 'QUIT', programs),
    () => undefined,
  );
  await ended;
  waiting.abort();
  await impatience;
}

/** Resolves when that process is gone, or is no longer the server of that data directory. */
export async function untilGone(pid: number, dataDirectory: string): Promise<void> {
  while (await isServerOf(dataDirectory, pid)) await setTimeout(10);
}

/** Whether that process is the server of that data directory, and no other program that was given its number since. */
export async function isServerOf(dataDirectory: string, pid: number): Promise<boolean> {
  const command = await commandLine(pid).catch(() => '');
  return command.includes('postgres') && command.includes(` -D ${dataDirectory} `);
}

/** The program and its arguments, separated by spaces. */
export async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  if (process.platform === 'win32') {
    const query = `(Get-CimInstance Win32_Process -Filter "ProcessId=${pid}").CommandLine`;
    return (await run('powershell', ['-NoProfile', '-Command', query], { windowsHide: true })).stdout.replaceAll(
      '"',
      '',
    );
  }
  return (await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
}

async function signal(pid: number, name: 'INT' | 'QUIT', programs: PostgresPrograms): Promise<void> {
  // Windows has no signals, and what Node does there in their place is to end the process at once.
  if (process.platform === 'win32') {
    await run(programs.pgCtl, ['kill', name, String(pid)], { windowsHide: true }).catch(() => undefined);
    return;
  }
  try {
    process.kill(pid, `SIG${name}`);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}
