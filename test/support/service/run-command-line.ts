import { expect } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Writable } from 'node:stream';
import { format } from 'node:util';
import { runCommandLine } from '../../../src/service/cli/program.js';
import { TOKEN } from '../http/request.js';
import { PlantStoreProcess } from './process.js';

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs in this process. Several may run at once: each has its own variables and its own output. */
class Run {
  stdoutText = '';
  stderrText = '';
  readonly stdout = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      this.stdoutText += text;
      done();
    },
  });

  constructor(readonly env: Record<string, string>) {}
}

const runs = new AsyncLocalStorage<Run>();
let ready: Promise<void> | undefined;

/**
 * Runs a command, a line or arguments, to its end in this process: a process of its own takes a hundred times longer.
 * Only these variables are set. What is about signals, files or the working folder needs a PlantStoreProcess.
 */
export async function outcomeOfCommandLine(
  command: string | readonly string[],
  variables: Record<string, string> = {},
): Promise<CommandOutcome> {
  ready ??= prepare();
  await ready;
  const args = typeof command === 'string' ? command.split(' ').filter(Boolean) : [...command];
  const run = new Run(variables);
  const code = await runs.run(run, () => runCommandLine(args));
  return { code, stdout: run.stdoutText, stderr: run.stderrText };
}

async function prepare(): Promise<void> {
  // Jest fails if modules that import the same ones are loaded at the same time.
  await import('../../../src/database/migrator.js');
  await import('../../../src/service/cli/check.js');
  await import('../../../src/service/bootstrap.js');
  capture();
}

/** Jest gives each suite a `process` and a `console` of its own, so that there is nothing to restore. */
function capture(): void {
  const { env, stdout } = process;
  Object.defineProperties(process, {
    env: { get: () => runs.getStore()?.env ?? env },
    stdout: { get: () => runs.getStore()?.stdout ?? stdout },
  });
  const { log, error } = console;
  console.log = (...values) => {
    const run = runs.getStore();
    if (run) run.stdoutText += `${format(...values)}\n`;
    else log(...values);
  };
  console.error = (...values) => {
    const run = runs.getStore();
    if (run) run.stderrText += `${format(...values)}\n`;
    else error(...values);
  };
}

/** Stands for every password that no output may show. */
export const PASSWORD = 'not-to-be-told';

type Expectation = (
  command: string,
  variables: Record<string, string>,
  ...reasons: (string | RegExp)[]
) => Promise<void>;

/** Runs a command that says why it fails, exits with 1, and shows neither a stack nor a secret. */
export const expectFailure: Expectation = (...run) => expectExit(1, ...run);

/** Runs a command whose configuration cannot be used: no service manager has to try it again. */
export const expectBadConfiguration: Expectation = (...run) => expectExit(78, ...run);

async function expectExit(
  expected: number,
  ...[command, variables, ...reasons]: Parameters<Expectation>
): Promise<void> {
  const { code, stdout, stderr } = await outcomeOf(command, variables);
  for (const reason of reasons) expect(stderr).toMatch(reason);
  expect(stderr).toMatch(/^plant-store: /m);
  const output = stdout + stderr;
  expect(output).not.toMatch(/\n\s+at /);
  expect(output).not.toMatch(PASSWORD);
  expect(output).not.toMatch(TOKEN);
  expect(code).toBe(expected);
}

/** A service that does not start must leave nothing open that keeps its process from ending. */
async function outcomeOf(command: string, variables: Record<string, string>): Promise<CommandOutcome> {
  if (command !== 'serve') return outcomeOfCommandLine(command, variables);
  const { ended, stdout, stderr } = await PlantStoreProcess.run(command, variables);
  return { code: (await ended) as number, stdout, stderr };
}
