import { describe, expect, jest } from '@jest/globals';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format } from 'node:util';
import { runCommandLine } from '../../../src/cli/program.js';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { freePort } from '../http/free-port.js';
import { postHead, RawConnection, type RawResponse, type RequestHeaders, TOKEN } from '../http/request.js';
import { until } from '../until.js';

/** The command line of this package, as built into dist/. */
export const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** The environment of a service on this database, on ports that are free. */
export function serviceVariables(databaseUrl: string): Record<string, string> {
  return { DATABASE_URL: databaseUrl, ACCESS_TOKENS: TOKEN, HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };
}

/** A command line, or its arguments one by one if there are blanks in them. */
type Command = string | readonly string[];
const argumentsOf = (command: Command): string[] =>
  typeof command === 'string' ? command.split(' ').filter(Boolean) : [...command];

export interface ProcessOptions {
  variables?: Record<string, string>;
  /** The folder that it runs in. */
  cwd?: string;
  /** What Node.js runs, `CLI` unless given. */
  script?: string;
  /** What runs instead of Node.js and a script. */
  program?: string;
  /** Leads a process group of its own, as what a terminal runs does. */
  detached?: boolean;
}

/** A `plant-store`, or a host of it, in a process of its own. Nothing of this process's configuration reaches it. */
export class PlantStoreProcess implements AsyncDisposable {
  stdout = '';
  stderr = '';
  /** Where `serve` listens, once `listening` has resolved. */
  port = 0;
  isRunning = true;
  /** The exit code, or the signal that ended it, once it has ended and all of its output has arrived. */
  readonly ended: Promise<number | NodeJS.Signals>;
  private readonly child: ChildProcessWithoutNullStreams;

  constructor(args: string[], { variables, cwd = tmpdir(), script = CLI, program, detached }: ProcessOptions = {}) {
    const { PATH, HOME } = process.env;
    const command = program === undefined ? [process.execPath, script] : [program];
    const [file = '', ...all] = [...command, ...args];
    this.child = spawn(file, all, { cwd, env: { PATH, HOME, ...variables }, detached: detached === true });
    for (const stream of ['stdout', 'stderr'] as const)
      this.child[stream].setEncoding('utf8').on('data', (text: string) => (this[stream] += text));
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      this.isRunning = false;
      return (code ?? signal) as number | NodeJS.Signals;
    });
  }

  /** Starts the service on a database, and resolves when it listens. */
  static serve(databaseUrl: string, variables: Record<string, string> = {}): Promise<PlantStoreProcess> {
    const all = { ...serviceVariables(databaseUrl), ...variables };
    return new PlantStoreProcess(['serve'], { variables: all }).listening();
  }

  /** Runs a command to its end. */
  static async run(command: Command, variables = {}, options: ProcessOptions = {}): Promise<PlantStoreProcess> {
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
    await until(() => pattern.test(this.output) || !this.isRunning, Infinity);
    const match = pattern.exec(this.output);
    if (match) return match;
    throw new Error(`The process ended without printing ${pattern}:\n${this.output}`);
  }

  /** What was logged so far, one object for each line that is complete. */
  get log(): Record<string, unknown>[] {
    const lines = [this.stdout, this.stderr].flatMap((text) => text.split('\n').slice(0, -1)).filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
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
    const [database, port] = [await createTestDatabase(), await freePort()];
    const service = await PlantStoreProcess.serve(database.url, { MANAGEMENT_PORT: String(port), ...variables });
    return new ManagedService(service, database, port);
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

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command to its end in this process: a process of its own takes a hundred times longer. One at a time.
 * Only these variables are set. What is about signals, files or the working folder needs a PlantStoreProcess.
 */
export async function outcomeOfCommandLine(command: Command, variables = {}): Promise<CommandOutcome> {
  const output = { stdout: '', stderr: '' };
  const environment = jest.replaceProperty(process, 'env', variables);
  const spies = [
    // No .env of the checkout.
    jest.spyOn(process, 'cwd').mockReturnValue(tmpdir()),
    jest.spyOn(process.stdout, 'write').mockImplementation((text: unknown, written?: unknown) => {
      output.stdout += String(text);
      (written as (() => void) | undefined)?.();
      return true;
    }),
    jest.spyOn(console, 'log').mockImplementation((...values) => void (output.stdout += `${format(...values)}\n`)),
    jest.spyOn(console, 'error').mockImplementation((...values) => void (output.stderr += `${format(...values)}\n`)),
  ];
  try {
    return { code: await runCommandLine(argumentsOf(command)), ...output };
  } finally {
    environment.restore();
    for (const spy of spies) spy.mockRestore();
  }
}

/** Stands for every password that no output may show. */
export const PASSWORD = 'not-to-be-told';

/** Runs a command that says why it fails, exits with this code, and shows neither a stack nor a secret. */
async function expectExit(
  expected: number,
  command: string,
  variables: Record<string, string>,
  ...reasons: (string | RegExp)[]
): Promise<void> {
  // A service that does not start must leave nothing open that keeps its process from ending. Without DATABASE_URL, a
  // command looks into its folder: in this process that of the checkout, where a service may be running.
  const needsProcess = command === 'serve' || !('DATABASE_URL' in variables);
  const run = await (needsProcess
    ? PlantStoreProcess.run(command, variables)
    : outcomeOfCommandLine(command, variables));
  for (const reason of [...reasons, /^plant-store: /m]) expect(run.stderr).toMatch(reason);
  for (const secret of [/\n\s+at /, PASSWORD, TOKEN]) expect(run.stdout + run.stderr).not.toMatch(secret);
  expect('ended' in run ? await run.ended : run.code).toBe(expected);
}

export const expectFailure = expectExit.bind(undefined, 1);
/** No service manager has to try it again. */
export const expectBadConfiguration = expectExit.bind(undefined, 78);

/** A suite that needs a program: skipped, with one line on why, if it is missing; but on CI it runs, and fails. */
export function describeWith(missing: string | undefined, name: string, suite: () => void): void {
  const isSkipped = missing !== undefined && !/^(?:true|1)$/.test(process.env.CI ?? '');
  if (missing !== undefined) process.stderr.write(`${isSkipped ? 'Skipped' : 'Must run'} "${name}": ${missing}\n`);
  (isSkipped ? describe.skip : describe)(name, suite);
}
