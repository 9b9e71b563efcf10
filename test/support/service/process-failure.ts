import { expect } from '@jest/globals';
import { TOKEN } from '../http/request.js';
import { PlantStoreProcess } from './process.js';
import { type CommandOutcome, outcomeOfCommandLine } from './run-command-line.js';

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
