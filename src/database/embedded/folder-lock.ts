import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { type Server, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { hasCode } from './has-code.js';

// open(2) of macOS and the BSDs takes the lock in the same call; Node has no name for the flag.
const O_EXLOCK = 0x20;

/** Told in place of a lock: somebody else holds it. */
export interface LockHolder {
  readonly pid: number | undefined;
}

/**
 * A lock on a folder that the operating system itself releases when its holder ends, however it ends: there is no
 * pid file that could go stale. Linux: a socket in the abstract namespace, which has no file; Windows: a named pipe;
 * elsewhere: a file opened with an exclusive lock. On Linux and Windows it reaches as far as the network namespace or
 * machine: containers that share the folder and not the network do not see each other's.
 */
export class FolderLock {
  private constructor(private readonly held: Server | FileHandle) {}

  static async acquire(folder: string): Promise<FolderLock | LockHolder> {
    if (process.platform !== 'linux' && process.platform !== 'win32') return FolderLock.acquireFile(folder);
    const name = await socketName(folder);
    for (;;) {
      const server = await listen(name);
      if (server) return new FolderLock(server);
      const holder = await ask(name);
      if (holder) return holder;
    }
  }

  async release(): Promise<void> {
    const closed = 'listen' in this.held ? once(this.held, 'close') : undefined;
    await this.held.close();
    await closed;
  }

  private static async acquireFile(folder: string): Promise<FolderLock | LockHolder> {
    const path = join(folder, 'postgres.lock');
    try {
      const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK, 0o600);
      await file.truncate();
      await file.write(String(process.pid), 0);
      return new FolderLock(file);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN', 'EWOULDBLOCK')) throw error;
      return { pid: toPid(await readFile(path, 'utf8').catch(() => '')) };
    }
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
    // Exclusive, or the workers of a cluster would be given their primary's socket.
    server.listen({ path, exclusive: true });
    await once(server, 'listening');
    return server.unref();
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) return undefined;
    throw error;
  }
}

/** Undefined when the holder has gone in the meantime. A holder too busy to answer is one without a known pid. */
async function ask(name: string): Promise<LockHolder | undefined> {
  const client = connect(name).setEncoding('utf8').setTimeout(1000);
  client.on('timeout', () => client.destroy());
  let answer = '';
  client.on('data', (chunk: string) => (answer += chunk));
  try {
    await once(client, 'close');
  } catch (error) {
    if (hasCode(error, 'ECONNREFUSED', 'ENOENT')) return undefined;
  }
  return { pid: toPid(answer) };
}

function toPid(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
