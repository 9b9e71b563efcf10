import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { accepts, freePort } from '../test/support/http/free-port.js';
import type { ServerTarget } from './targets.js';

export const ACCESS_TOKEN = 'a-token-for-the-benchmark-0123456789';

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;

/** A target that did not start, or has ended, and what it said last. */
export class TargetServerError extends Error {
  override readonly name = 'TargetServerError';

  constructor(target: string, what: string, output: string) {
    const said = output.trim().split('\n').at(-1)?.trim() ?? '';
    super(`${target} ${what}${said === '' ? '' : `: ${said.slice(0, 300)}`}`);
  }
}

/** A target in a process of its own. */
export class TargetServer implements AsyncDisposable {
  private output = '';
  private readonly ended: Promise<unknown>;

  private constructor(
    readonly target: ServerTarget,
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly startedAt: number,
    /** Milliseconds from the start of the process until it accepted a connection. */
    public startTime = 0,
  ) {
    this.ended = once(child, 'close');
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        // What it says last explains most.
        this.output = (this.output + text).slice(-4000);
      });
    }
  }

  /** @throws TargetServerError if the process ends, or does not listen in time */
  static async start(target: ServerTarget, databaseUrl: string): Promise<TargetServer> {
    const port = await freePort();
    const { PATH, HOME } = process.env;
    const program = (await target.program?.()) ?? process.execPath;
    const child = spawn(program, target.command, {
      // In production, as in the measurements of anybody else; everything else is each one's default.
      env: {
        PATH,
        HOME,
        NODE_ENV: 'production',
        DATABASE_URL: databaseUrl,
        PORT: String(port),
        HOST: '127.0.0.1',
        MANAGEMENT_PORT: '0',
        ACCESS_TOKEN,
        ACCESS_TOKENS: ACCESS_TOKEN,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Not in the terminal's process group: on Ctrl-C the benchmark ends it.
      detached: true,
    });
    const server = new TargetServer(target, port, child, performance.now());
    try {
      await server.listening();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** @throws TargetServerError with what it has said last, if it has ended */
  assertRunning(): void {
    if (this.hasEnded()) throw new TargetServerError(this.target.name, 'has ended', this.output);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.hasEnded()) return;
    this.child.kill('SIGTERM');
    const timer = setTimeout(STOP_LIMIT_MS, 'late', { ref: false });
    if ((await Promise.race([this.ended, timer])) === 'late') this.child.kill('SIGKILL');
    await this.ended;
  }

  private async listening(): Promise<void> {
    while (!(await accepts(this.port))) {
      if (this.hasEnded()) {
        await this.ended;
        throw new TargetServerError(this.target.name, 'ended', this.output);
      }
      if (performance.now() - this.startedAt > START_LIMIT_MS) {
        throw new TargetServerError(this.target.name, `did not listen within ${START_LIMIT_MS} ms`, this.output);
      }
      await setTimeout(5);
    }
    this.startTime = performance.now() - this.startedAt;
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}
