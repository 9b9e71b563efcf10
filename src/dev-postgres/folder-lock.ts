import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { hasCode } from './errors.js';

// open(2) of macOS and the BSDs takes the lock in the same call; Node has no name for the flag.
const O_EXLOCK = 0x20;

/** Another process has the lock; its pid, if that is known. */
interface LockOwner {
  readonly pid: number | undefined;
}

/**
 * Locks a folder until the lock is disposed of. The operating system releases it when its process ends, so no pid file can
 * go stale. Linux: a socket in the abstract namespace, which has no file; Windows: a named pipe; elsewhere: a file opened with
 * an exclusive lock. On Linux and Windows it reaches as far as the network namespace or machine: containers that share the
 * folder and not the network do not see each other's.
 */
export async function lockFolder(folder: string): Promise<AsyncDisposable | LockOwner> {
  if (process.platform !== 'linux' && process.platform !== 'win32') return lockFile(join(folder, 'postgres.lock'));
  const name = await socketName(folder);
  for (;;) {
    const result = (await listen(name)) ?? (await askOwner(name));
    if (result) return result;
  }
}

async function lockFile(path: string): Promise<AsyncDisposable | LockOwner> {
  try {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK, 0o600);
    await file.truncate();
    await file.write(String(process.pid), 0);
    return file;
  } catch (error) {
    if (!hasCode(error, 'EAGAIN', 'EWOULDBLOCK')) throw error;
    return { pid: Number(await readFile(path, 'utf8').catch(() => '')) || undefined };
  }
}

// By device and inode, so that a folder is one folder under all its names: links, mounts, letter case.
async function socketName(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const key = createHash('sha256').update(`${dev.toString()}:${ino.toString()}`).digest('hex').slice(0, 32);
  return process.platform === 'win32' ? `\\\\.\\pipe\\plant-store-${key}` : `\0plant-store-${key}`;
}

async function listen(path: string): Promise<Server | undefined> {
  const server = createServer((client) => {
    client.on('error', () => undefined).end(String(process.pid));
  });
  try {
    await once(server.listen(path), 'listening');
    return server.unref();
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) return undefined;
    throw error;
  }
}

/** Undefined when the owner has ended in the meantime. The pid of an owner too busy to answer is not known. */
async function askOwner(name: string): Promise<LockOwner | undefined> {
  const client = connect(name).setEncoding('utf8').setTimeout(1000);
  client.on('timeout', () => client.destroy());
  let answer = '';
  client.on('data', (chunk: string) => (answer += chunk));
  try {
    await once(client, 'close');
  } catch (error) {
    if (hasCode(error, 'ECONNREFUSED', 'ENOENT')) return undefined;
  }
  return { pid: Number(answer) || undefined };
}
