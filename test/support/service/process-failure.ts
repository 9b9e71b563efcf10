import { expect } from '@jest/globals';
import { TOKEN } from '../http/request.js';
import { PlantStoreProcess } from './process.js';
import { type CommandOutcome, outcomeOfCommandLine } from './run-command-line.js';

/** Stands for every password that no output may show. */
export const PASSWORD = 'not-to-be-told';

/** What a start again would not mend, and what it may. */
const MISCONFIGURED = /^plant-store: The configuration cannot be used/m;
const ABOUT_THE_MACHINE = /taken by another program|not allowed to this user|no address of this machine/;

/** Runs a command that says why it fails, exits with 1 or, if the configuration is at fault, with 78, and shows neither a stack nor a secret. */
export async function expectFailure(
  command: string,
  variables: Record<string, string>,
  ...reasons: (string | RegExp)[]
): Promise<void> {
  const { code, stdout, stderr } = await outcomeOf(command, variables);
  for (const reason of reasons) expect(stderr).toMatch(reason);
  expect(stderr).toMatch(/^plant-store: /m);
  const output = stdout + stderr;
  expect(output).not.toMatch(/\n\s+at /);
  expect(output).not.toMatch(PASSWORD);
  expect(output).not.toMatch(TOKEN);
  expect(code).toBe(MISCONFIGURED.test(stderr) && !ABOUT_THE_MACHINE.test(stderr) ? 78 : 1);
}

/** A service that does not start must leave nothing open that keeps its process from ending. */
async function outcomeOf(command: string, variables: Record<string, string>): Promise<CommandOutcome> {
  if (command !== 'serve') return outcomeOfCommandLine(command, variables);
  const { ended, stdout, stderr } = await PlantStoreProcess.run(command, variables);
  return { code: (await ended) as number, stdout, stderr };
}
