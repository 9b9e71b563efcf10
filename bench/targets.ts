import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { accepts, freePort } from '../test/support/http/free-port.js';

export const ACCESS_TOKEN = 'a-token-for-the-benchmark-0123456789';

const run = promisify(execFile);

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;

/** Where Debian has the sources of Go's packages. */
const GO_PACKAGES = '/usr/share/gocode';
const GO_MISSING = 'Go is left out: on Debian, apt-get install golang-go golang-github-jackc-pgx-v4-dev';

/** A server that creates plants. It listens on `PORT` of 127.0.0.1, and accepts the token in `ACCESS_TOKENS`. */
export interface Target {
  readonly title: string;
  /** With its version. */
  readonly runtime: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The build of the store whose `migrate` makes its tables. */
  readonly build: string;
  /** Not a peer of it. */
  readonly isStore: boolean;
}

/** A Node.js that targets run on. */
export type Node = Pick<Target, 'runtime' | 'program'>;

/** @param program its executable */
export async function findNode(program: string): Promise<Node> {
  const { stdout } = await run(program, ['--version']);
  return { runtime: `Node.js ${stdout.trim()}`, program };
}

/** The store as the image runs it. @param build the folder of a build */
export function storeTarget(node: Node, title: string, build: string): Target {
  return { ...node, title, args: [join(build, 'main.js')], build, isStore: true };
}

/** Services that do the same as the store, as they are usually written. */
export function nodePeers(node: Node): Target[] {
  return [
    batchingPeer(node),
    scriptTarget(node, 'Fastify + postgres.js', 'fastify', 'postgres.js'),
    scriptTarget(node, 'Fastify + pg', 'fastify', 'pg'),
    scriptTarget(node, 'Nest + Prisma, as documented', 'nest-prisma'),
  ];
}

/** What a good engineer writes in an afternoon who knows that a batch is cheaper. */
export function batchingPeer(node: Node): Target {
  return scriptTarget(node, 'Fastify + pg, in batches', 'fastify', 'batches');
}

/** It is left out if there is no Go here. */
export async function goPeers(): Promise<Target[]> {
  if (!existsSync(join(GO_PACKAGES, 'src/github.com/jackc/pgx/v4'))) {
    console.error(`  ${GO_MISSING}`);
    return [];
  }
  const [program, env] = ['bench/dist/go-pgx', { ...process.env, GO111MODULE: 'off', GOPATH: GO_PACKAGES }];
  await run('go', ['build', '-o', program, 'bench/peers/go-pgx.go'], { env });
  const { stdout } = await run('go', ['env', 'GOVERSION']);
  const runtime = stdout.trim().replace('go', 'Go ');
  return [{ title: 'Go, net/http + pgx', runtime, program, args: [], build: 'dist', isStore: false }];
}

/** A script of `peers/`, as it is compiled. npm calls the benchmark in the folder of the package. */
function scriptTarget(node: Node, title: string, name: string, ...args: string[]): Target {
  return { ...node, title, args: [`bench/dist/bench/peers/${name}.js`, ...args], build: 'dist', isStore: false };
}

/** A target in a process of its own. */
export class TargetServer {
  readonly pid: number;
  private output = '';
  private readonly closed: Promise<unknown>;

  private constructor(
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
    const server = new TargetServer(port, child);
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await accepts(port))) {
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
        await server.stop();
        throw new Error(`${title} did not start: ${server.output}`);
      }
      await sleep(5);
    }
    return server;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await this.closed;
    clearTimeout(timer);
  }
}
