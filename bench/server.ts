import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { accepts, freePort } from '../test/support/http/free-port.js';
import type { Target } from './targets.js';

export const ACCESS_TOKEN = 'a-token-for-the-benchmark-0123456789';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;

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
