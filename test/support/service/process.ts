import { expect } from '@jest/globals';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { freePort } from '../http/free-port.js';
import { RawConnection, type RawResponse } from '../http/raw-connection.js';
import { postHead, type RequestHeaders, TOKEN } from '../http/request.js';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

/** The environment of a service on this database, on ports that are free. */
export function serviceVariables(databaseUrl: string): Record<string, string> {
  return { DATABASE_URL: databaseUrl, ACCESS_TOKENS: TOKEN, HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };
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

export interface ProcessOptions {
  variables?: Record<string, string>;
  /** The folder that it runs in. */
  cwd?: string;
  /** What Node.js runs: this package's command line, as built into dist/, unless given. */
  script?: string;
  /** The Node.js that runs it: the one of the tests, unless given. */
  node?: string;
  /** Leads a process group of its own, as what a terminal runs does. */
  detached?: boolean;
  /** How many descriptors it may have (`ulimit -n`). */
  descriptors?: number;
  /** Runs on a terminal, both streams on one, by the program `script` of util-linux. */
  terminal?: boolean;
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

  constructor(
    args: string[],
    { variables = {}, cwd = tmpdir(), script = MAIN, node = process.execPath, ...options }: ProcessOptions = {},
  ) {
    const { PATH, HOME } = process.env;
    const { detached = false, descriptors, terminal = false } = options;
    const command = [node, script, ...args];
    if (descriptors !== undefined) command.unshift('sh', '-c', `ulimit -n ${descriptors}; exec "$0" "$@"`);
    if (terminal) command.splice(0, Infinity, 'script', '-qec', `exec ${command.map(quoted).join(' ')}`, '/dev/null');
    const [file = '', ...rest] = command;
    this.child = spawn(file, rest, { cwd, env: { PATH, HOME, ...variables }, detached });
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
  static async serve(
    databaseUrl: string,
    variables: Record<string, string> = {},
    options: ProcessOptions = {},
  ): Promise<PlantStoreProcess> {
    const all = { ...serviceVariables(databaseUrl), ...variables };
    return new PlantStoreProcess(['serve'], { ...options, variables: all }).listening();
  }

  /** Runs a command to its end: a line, or arguments, in which there may be blanks. */
  static async run(
    command: string | readonly string[],
    variables: Record<string, string> = {},
    options: ProcessOptions = {},
  ): Promise<PlantStoreProcess> {
    const args = typeof command === 'string' ? command.split(' ').filter(Boolean) : [...command];
    const run = new PlantStoreProcess(args, { ...options, variables });
    await run.ended;
    return run;
  }

  async listening(): Promise<this> {
    const [, port] = await this.printed(/Listening on http:\/\/[^/]+:([0-9]+)/);
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

  /** Types a Ctrl-C into the terminal. */
  interrupt(): void {
    this.child.stdin.write('\x03');
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

  static async start(variables: Record<string, string> = {}, options: ProcessOptions = {}): Promise<ManagedService> {
    const database = await createTestDatabase();
    const managementPort = await freePort();
    const own = { MANAGEMENT_PORT: String(managementPort) };
    const service = await PlantStoreProcess.serve(database.url, { ...own, ...variables }, options);
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

/** One of several services on one database, each in a process of its own, always on the same ports, as a proxy has to know it. */
export class Instance implements AsyncDisposable {
  private service: PlantStoreProcess | undefined;

  private constructor(
    private readonly databaseUrl: string,
    readonly port: number,
    readonly managementPort: number,
  ) {}

  static async start(databaseUrl: string): Promise<Instance> {
    const instance = new Instance(databaseUrl, await freePort(), await freePort());
    await instance.start();
    return instance;
  }

  async start(): Promise<void> {
    const ports = { PORT: String(this.port), MANAGEMENT_PORT: String(this.managementPort) };
    this.service = await PlantStoreProcess.serve(this.databaseUrl, { ...ports, DRAIN_DELAY: '2000' });
  }

  async restart(): Promise<void> {
    this.service?.signal('SIGTERM');
    expect(await this.service?.ended).toBe(0);
    await this.start();
  }

  /** How many plants it has created since it started. */
  async created(): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${this.managementPort}/metrics`)).text();
    return Number(/^plant_store_plants_created_total (\d+)$/m.exec(metrics)?.[1]);
  }

  async kill(): Promise<void> {
    await this.service?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
