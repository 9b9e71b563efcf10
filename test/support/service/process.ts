import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { freePort } from '../http/free-port.js';
import { RawConnection, type RawResponse } from '../http/raw-connection.js';
import { postHead, type RequestHeaders, TOKEN } from '../http/request.js';

/** The command line of this package, as built into dist/. */
export const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** The environment of a service on this database, on ports that are free. */
export function serviceVariables(databaseUrl: string): Record<string, string> {
  return { DATABASE_URL: databaseUrl, ACCESS_TOKENS: TOKEN, HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };
}

/** The arguments in a command line, which may be given one by one if there are blanks in them. */
export function argumentsOf(command: string | readonly string[]): string[] {
  return typeof command === 'string' ? command.split(' ').filter(Boolean) : [...command];
}

export interface ProcessOptions {
  variables?: Record<string, string>;
  /** The folder that it runs in. */
  cwd?: string;
  /** What Node.js runs, `CLI` unless given. */
  script?: string;
  /** Leads a process group of its own, as what a terminal runs does. */
  detached?: boolean;
}

/** A `plant-store`, or a host of it, in a process of its own. Nothing of this process's configuration reaches it. */
export class PlantStoreProcess implements AsyncDisposable {
  stdout = '';
  stderr = '';
  /** Where `serve` listens, once `listening` has resolved. */
  port = 0;
  /** The exit code, or the signal that ended it, once it has ended and all of its output has arrived. */
  readonly ended: Promise<number | NodeJS.Signals>;
  private readonly child: ChildProcessWithoutNullStreams;
  private running = true;
  private wake: () => void = () => undefined;

  constructor(args: string[], { variables = {}, cwd = tmpdir(), script = CLI, detached = false }: ProcessOptions = {}) {
    const { PATH, HOME } = process.env;
    this.child = spawn(process.execPath, [script, ...args], { cwd, env: { PATH, HOME, ...variables }, detached });
    for (const stream of ['stdout', 'stderr'] as const)
      this.child[stream].setEncoding('utf8').on('data', (text: string) => {
        this[stream] += text;
        this.wake();
      });
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      this.running = false;
      this.wake();
      return (code ?? signal) as number | NodeJS.Signals;
    });
  }

  /** Starts the service on a database, and resolves when it listens. */
  static serve(databaseUrl: string, variables: Record<string, string> = {}): Promise<PlantStoreProcess> {
    const all = { ...serviceVariables(databaseUrl), ...variables };
    return new PlantStoreProcess(['serve'], { variables: all }).listening();
  }

  /** Runs a command to its end. */
  static async run(
    command: string | readonly string[],
    variables: Record<string, string> = {},
    options: ProcessOptions = {},
  ): Promise<PlantStoreProcess> {
    const run = new PlantStoreProcess(argumentsOf(command), { ...options, variables });
    await run.ended;
    return run;
  }

  async listening(): Promise<this> {
    const [, port] = await this.printed(/Listening on http:\/\/[^/\s]+:([0-9]+)/);
    this.port = Number(port);
    return this;
  }

  /** Everything printed so far: the log goes to the first stream, and why a start failed to the second. */
  get output(): string {
    return this.stdout + this.stderr;
  }

  /** Resolves to the match, once the output has one. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match) return match;
      if (!this.running) throw new Error(`The process ended without printing ${pattern}:\n${this.output}`);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  /** What was logged so far, one object for each line that is complete. */
  get log(): Record<string, unknown>[] {
    const lines = [this.stdout, this.stderr].flatMap((text) => text.split('\n').slice(0, -1)).filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  get isRunning(): boolean {
    return this.running;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends a create on a connection of its own. */
  async post(body: string, headers: RequestHeaders = {}): Promise<RawResponse | undefined> {
    using connection = await RawConnection.open(this.port);
    connection.send(postHead('', body, headers), body);
    return await connection.response();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }
}

/** A service in a process of its own, on a database of its own, that can be asked how it is. */
export class ManagedService implements AsyncDisposable {
  private constructor(
    readonly process: PlantStoreProcess,
    readonly database: TestDatabase,
    private readonly managementPort: number,
  ) {}

  static async start(variables: Record<string, string> = {}): Promise<ManagedService> {
    const database = await createTestDatabase();
    const managementPort = await freePort();
    const own = { MANAGEMENT_PORT: String(managementPort) };
    const service = await PlantStoreProcess.serve(database.url, { ...own, ...variables });
    return new ManagedService(service, database, managementPort);
  }

  /** What the management port answers with. */
  managed(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.managementPort}${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    await this.database.drop();
  }
}
