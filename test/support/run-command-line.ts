import { jest } from '@jest/globals';
import { runCommandLine } from '../../src/cli/cli.js';

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Calls the command line without a process, which would take many times longer, for what ends before it does anything. */
export async function outcomeOfCommandLine(args: readonly string[]): Promise<CommandOutcome> {
  const outcome = { stdout: '', stderr: '' };
  const spies = [
    jest.spyOn(console, 'log').mockImplementation((text) => void (outcome.stdout += `${String(text)}\n`)),
    jest.spyOn(console, 'error').mockImplementation((text) => void (outcome.stderr += `${String(text)}\n`)),
  ];
  try {
    return { code: await runCommandLine([...args]), ...outcome };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
