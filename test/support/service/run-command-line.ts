import { expect, jest } from '@jest/globals';
import { tmpdir } from 'node:os';
import { format } from 'node:util';
import { runCommandLine } from '../../../src/cli/program.js';
import { TOKEN } from '../http/request.js';
import { argumentsOf, PlantStoreProcess } from './process.js';

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command, a line or arguments, to its end in this process: a process of its own takes a hundred times longer. One at a time.
 * Only these variables are set. What is about signals, files or the working folder needs a PlantStoreProcess.
 */
export async function outcomeOfCommandLine(
  command: string | readonly string[],
  variables: Record<string, string> = {},
): Promise<CommandOutcome> {
  let [stdout, stderr] = ['', ''];
  const environment = jest.replaceProperty(process, 'env', variables);
  const spies = [
    // No .env of the checkout.
    jest.spyOn(process, 'cwd').mockReturnValue(tmpdir()),
    jest.spyOn(process.stdout, 'write').mockImplementation((text: unknown, written?: unknown) => {
      stdout += String(text);
      (written as (() => void) | undefined)?.();
      return true;
    }),
    jest.spyOn(console, 'log').mockImplementation((...values) => {
      stdout += `${format(...values)}\n`;
    }),
    jest.spyOn(console, 'error').mockImplementation((...values) => {
      stderr += `${format(...values)}\n`;
    }),
  ];
  try {
    return { code: await runCommandLine(argumentsOf(command)), stdout, stderr };
  } finally {
    environment.restore();
    for (const spy of spies) spy.mockRestore();
  }
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
