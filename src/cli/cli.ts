import { withoutTokens } from '../auth/tokens/token.js';
import { escapeControlsInLines } from '../util/text.js';
import { PLANT_STORE } from './commands.js';
import { call, UsageError } from './parser.js';

const FAILURE = 1;
const USAGE_FAULT = 2;

/** Runs one command to its end. Returns the exit code: 0, 1 if the command failed, 2 if the command line is wrong. */
export async function runCommandLine(args: string[]): Promise<number> {
  try {
    await call(PLANT_STORE, args);
    return 0;
  } catch (error) {
    const misused = error instanceof UsageError;
    const text = misused ? `plant-store: ${error.message}\n\n${error.usage}` : await failureText(error);
    // It may repeat arguments, or what the database says: no control character may reach a terminal, and no token a log.
    console.error(escapeControlsInLines(withoutTokens(text)));
    return misused ? USAGE_FAULT : FAILURE;
  }
}

async function failureText(error: unknown): Promise<string> {
  // Loaded only here: it loads the database driver.
  const { describeFailure } = await import('./output.js');
  return describeFailure(error);
}
