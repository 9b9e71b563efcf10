import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import { PidFile } from './pid-file.js';
import type { PostgresPrograms } from './postgres-programs.js';
import { serverEnvironment } from './server-environment.js';
import type { ServerHome } from './server-home.js';
import { isServerOf, shutDown, untilGone } from './server-process.js';

/** The port may be taken between our look and PostgreSQL's, and processes of a killed server need a moment to end. */
const ATTEMPTS = 5;

/** Settings of the server, by name. */
export type Settings = Readonly<Record<string, string | number>>;

/** The running PostgreSQL server. Its caller holds the lock of the home. */
export class Postmaster {
  readonly ended: Promise<unknown>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly pid: number,
    private readonly programs: PostgresPrograms,
    readonly port: number,
  ) {
    this.ended = once(child, 'exit');
  }

  static async start(home: ServerHome, programs: PostgresPrograms, own: Settings = {}): Promise<Postmaster> {
    const pidFile = new PidFile(home.data);
    const orphan = await pidFile.read();
    if (orphan && (await isServerOf(home.data, orphan.pid))) {
      await shutDown(orphan.pid, programs, untilGone(orphan.pid, home.data));
    }
    await rename(home.logFile, `${home.logFile}.1`).catch(() => undefined);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await pidFile.disown();
      const postmaster = await Postmaster.spawn(home, programs, { ...own, port: await freePort() });
      if (await postmaster.becomesReady(pidFile)) return postmaster;
      await setTimeout(50 * attempt);
    }
    const lines = (await readFile(home.logFile, 'utf8')).trim().split('\n').slice(-10);
    throw new EmbeddedPostgresError(
      `PostgreSQL did not start on the data in ${home.data}. The end of its log, ${home.logFile}:\n${lines.join('\n')}`,
    );
  }

  async stop(): Promise<void> {
    if (this.hasEnded()) return;
    this.child.ref();
    await shutDown(this.pid, this.programs, this.ended);
  }

  private static async spawn(
    home: ServerHome,
    programs: PostgresPrograms,
    own: Settings & { port: number },
  ): Promise<Postmaster> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      ...own,
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = await open(home.logFile, 'a', 0o600);
    try {
      const child = spawn(programs.postgres, ['-D', home.data, ...options], {
        ...home.user.ids,
        cwd: home.data,
        env: serverEnvironment(),
        stdio: ['ignore', log.fd, log.fd],
        windowsHide: true,
        // Not in the terminal's process group: Ctrl-C is for the service, which still has requests to finish.
        detached: true,
      });
      await once(child, 'spawn');
      // A process that ends without stop() must not hang: its server is found at the next start.
      child.unref();
      return new Postmaster(child, child.pid ?? 0, programs, own.port);
    } finally {
      await log.close();
    }
  }

  private async becomesReady(pidFile: PidFile): Promise<boolean> {
    while (!this.hasEnded()) {
      const state = await pidFile.read();
      if (state?.pid === this.pid && state.ready) return true;
      await setTimeout(10);
    }
    return false;
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen({ port: 0, host: '127.0.0.1', exclusive: true });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
