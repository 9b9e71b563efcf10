import { AsyncLocalStorage } from 'node:async_hooks';
import { Writable } from 'node:stream';
import { format } from 'node:util';
import { runCommandLine } from '../../../src/service/cli/program.js';

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
