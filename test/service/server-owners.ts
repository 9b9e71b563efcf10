import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../support/database/embedded-server.mjs', import.meta.url));

/** What another process says of the embedded server that it has started, or not. */
interface OwnedServer {
  readonly owner: ChildProcess;
  readonly url: string;
  readonly location: string;
  readonly error?: string;
}

/** Whether there is a process of that number. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Other processes, most of which own an embedded server; none outlives `endAll`. */
export class ServerOwners {
  private readonly owners = new Set<ChildProcess>();

  async start(directory: string): Promise<OwnedServer> {
    const owner = this.spawn(process.execPath, [SCRIPT, directory]);
    if (!owner.stdout) throw new Error('The process has no output to report on.');
    const [line] = (await once(owner.stdout, 'data')) as [Buffer];
    return { ...(JSON.parse(line.toString()) as Omit<OwnedServer, 'owner'>), owner };
  }

  /** As `start`, but does not wait for anything. */
  begin(directory: string): ChildProcess {
    return this.spawn(process.execPath, [SCRIPT, directory]);
  }

  /** Each in a process group of its own, and with a standard input at whose end it is to end. */
  spawn(command: string, args: string[], options: SpawnOptions = {}): ChildProcess {
    const owner = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true, ...options });
    this.owners.add(owner);
    return owner;
  }

  /** Kills it, or lets it end in peace. */
  async end(owner: ChildProcess, how: 'kill' | 'peace' = 'peace'): Promise<void> {
    this.owners.delete(owner);
    if (owner.exitCode !== null || owner.signalCode !== null) return;
    const ended = once(owner, 'exit');
    if (how === 'kill') owner.kill('SIGKILL');
    else owner.stdin?.end();
    await ended;
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.owners].map((owner) => this.end(owner)));
  }
}
