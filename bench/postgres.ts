import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** The program of PostgreSQL, and what it gets besides; unlike the embedded server it can have a library of ours. */
export interface PostgresProgram {
  readonly path: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** Starts a server on data that there are. Resolves when it takes connections at the URL. */
export async function startPostgres(
  { path, environment }: PostgresProgram,
  data: string,
  url: URL,
  settings: Readonly<Record<string, string | number>>,
): Promise<ChildProcess> {
  const own = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: url.port, ...settings };
  const { uid, gid } = await stat(data);
  await using log = await open(`${data}.log`, 'a');
  const child = spawn(path, ['-D', data, ...Object.entries(own).map(([name, value]) => `--${name}=${value}`)], {
    // It does not run as root.
    ...(process.getuid?.() === 0 && { uid, gid }),
    cwd: '/',
    env: { PATH: process.env.PATH, LC_ALL: 'C', ...environment },
    stdio: ['ignore', log.fd, log.fd],
    // Not in the terminal's process group: on Ctrl-C the benchmark ends it.
    detached: true,
  });
  while (!(await query(url.href, 'SELECT').then(Boolean, () => false))) {
    if (hasEnded(child)) throw new Error(`PostgreSQL did not start: ${await readFile(`${data}.log`, 'utf8')}`);
    await sleep(20);
  }
  return child;
}

export async function stopPostgres(child: ChildProcess): Promise<void> {
  child.kill('SIGINT');
  if (!hasEnded(child)) await once(child, 'exit');
}

/** On a connection of its own: between the turns no session is there that the targets do not have. */
export async function query(url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
