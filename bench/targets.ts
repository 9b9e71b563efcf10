import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { accepts, freePort } from '../test/support/http/free-port.js';

export const ACCESS_TOKEN = 'a-token-for-the-benchmark-0123456789';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;

/** Where Debian has the sources of Go's packages. */
const GO_PACKAGES = '/usr/share/gocode';
const GO_MISSING = 'Go is left out: on Debian, apt-get install golang-go golang-github-jackc-pgx-v4-dev';

/** A server that creates plants. It listens on `PORT` of 127.0.0.1, and accepts the token in `ACCESS_TOKENS`. */
export interface Target {
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The build of the store whose `migrate` makes its tables. */
  readonly build: string;
}

/** The store as the image runs it. @param build the folder of a build */
export function storeTarget(title: string, build: string): Target {
  const args = [join(build, 'main.js')];
  return { title, program: process.execPath, args, build };
}

/** Services that do the same as the store, as they are usually written. The one in Go is left out if there is no Go here. */
export async function buildPeers(): Promise<Target[]> {
  const peers = [
    scriptTarget('Fastify + postgres.js', 'fastify', 'postgres.js'),
    scriptTarget('Fastify + pg', 'fastify', 'pg'),
    scriptTarget('Nest + Prisma, as documented', 'nest-prisma'),
  ];
  if (existsSync(join(GO_PACKAGES, 'src/github.com/jackc/pgx/v4'))) {
    peers.push({ title: 'Go, net/http + pgx', program: await buildGoPeer(), args: [], build: 'dist' });
  } else {
    console.error(`  ${GO_MISSING}`);
  }
  return peers;
}

/** A script of `peers/`, as it is compiled. All paths are those of the package, in whose folder npm calls the benchmark. */
function scriptTarget(title: string, name: string, ...args: string[]): Target {
  return { title, program: process.execPath, args: [`bench/dist/bench/peers/${name}.js`, ...args], build: 'dist' };
}

async function buildGoPeer(): Promise<string> {
  const program = 'bench/dist/go-pgx';
  await promisify(execFile)('go', ['build', '-o', program, 'bench/peers/go-pgx.go'], {
    env: { ...process.env, GO111MODULE: 'off', GOPATH: GO_PACKAGES },
  });
  return program;
}

/** A target in a process of its own. */
export class TargetServer {
  readonly pid: number;
  private output = '';
  private readonly closed: Promise<unknown>;

  private constructor(
    private readonly title: string,
    readonly port: number,
    private readonly child: ChildProcess,
  ) {
    this.pid = child.pid ?? 0;
    this.closed = once(child, 'close');
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
  }

  /** Resolves when it accepts connections. @throws Error with what the target has said last, if it does not */
  static async start({ title, program, args }: Target, databaseUrl: string): Promise<TargetServer> {
    const port = await freePort();
    const { PATH, HOME } = process.env;
    const child = spawn(program, args, {
      // In production, as in the measurements of anybody else; everything else is each one's default.
      env: {
        PATH,
        HOME,
        NODE_ENV: 'production',
        DATABASE_URL: databaseUrl,
        PORT: String(port),
        HOST: '127.0.0.1',
        MANAGEMENT_PORT: '0',
        ACCESS_TOKENS: ACCESS_TOKEN,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Not in the terminal's process group: on Ctrl-C the benchmark ends it.
      detached: true,
    });
    const server = new TargetServer(title, port, child);
    try {
      await server.listening();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await this.closed;
    clearTimeout(timer);
  }

  private async listening(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await accepts(this.port))) {
      const hasEnded = this.child.exitCode !== null || this.child.signalCode !== null;
      if (hasEnded || performance.now() > deadline) throw new Error(`${this.title} did not start: ${this.output}`);
      await sleep(5);
    }
  }
}
