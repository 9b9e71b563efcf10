import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { accepts, freePort } from '../test/support/http/free-port.js';

/** What makes the database slower. */
export interface Delay {
  readonly kind: 'fsync' | 'network';
  readonly milliseconds: number;
}

/** @param text `fsync=1` or `network=3`, as it is given to `--delay` */
export function parseDelay(text: string): Delay {
  const [, kind, milliseconds] = /^(fsync|network)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (kind === undefined) throw new RangeError('--delay should be fsync=<ms> or network=<ms>');
  return { kind: kind === 'fsync' ? 'fsync' : 'network', milliseconds: Number(milliseconds) };
}

/** For the heading of the report. */
export function describeDelay(delay: Delay): string {
  if (delay.kind === 'fsync') return `Every \`fdatasync\` of PostgreSQL takes ${delay.milliseconds} ms longer.`;
  return `The network between service and PostgreSQL takes ${delay.milliseconds} ms each way.`;
}

/** Compiles a library for `LD_PRELOAD`, which PostgreSQL's own user can read. */
export async function compileSlowFdatasync(folder: string, milliseconds: number): Promise<string> {
  if (process.platform !== 'linux') throw new Error('--delay fsync is for Linux: other systems have no LD_PRELOAD');
  const library = join(folder, 'fdatasync.so');
  await compile('fdatasync.c', library, '-shared', '-fPIC', `-DDELAY_US=${inMicroseconds(milliseconds)}`);
  await chmod(library, 0o755);
  return library;
}

/** Starts a proxy that is slow, as a process of its own, so that it takes no time of the load's event loop. */
export async function startSlowNetwork(
  folder: string,
  serverPort: string,
  milliseconds: number,
): Promise<{ readonly port: number; readonly stop: () => Promise<unknown> }> {
  const program = join(folder, 'network');
  await compile('network.c', program);
  const port = await freePort();
  const args = [String(port), serverPort, String(inMicroseconds(milliseconds))];
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
  const exit = once(child, 'exit');
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error('the slow network did not start');
    await sleep(5);
  }
  const stop = (): Promise<unknown> => {
    child.stdin.end();
    return exit;
  };
  return { port, stop };
}

function inMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}

async function compile(source: string, output: string, ...options: string[]): Promise<void> {
  const args = ['-O2', ...options, '-o', output, join('bench/delay', source)];
  await promisify(execFile)('cc', args).catch((cause: unknown) => {
    throw new Error('--delay fsync and --delay network need a C compiler, cc', { cause });
  });
}
