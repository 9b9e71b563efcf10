import { withoutTokens } from '../auth/tokens/token.js';
import { escapeControlsInLines } from '../util/text.js';
import { packageVersion } from '../util/package-files.js';
import { call, type CommandGroup } from './command.js';
import { describeFailure } from './describe-failure.js';
import { MIGRATE, OPENAPI, SERVE } from './commands.js';
import { TOKEN } from './token/token-commands.js';
import { UsageError } from './usage.error.js';

const PLANT_STORE: CommandGroup = {
  usage: `plant-store: a service that stores plants

  plant-store serve      run the service
  plant-store migrate    bring the database (DATABASE_URL) to this version, in the PostgreSQL schema
                         of the URL, or: --schema NAME
  plant-store token      create, list, revoke and rotate access tokens
  plant-store openapi    print the OpenAPI document

  --help, --version      --help behind a command tells more of it

Configuration comes from environment variables; the README lists them.`,
  commands: { serve: SERVE, migrate: MIGRATE, token: TOKEN, openapi: OPENAPI },
  answers: { version: packageVersion },
};
const FAILURE = 1;
const USAGE_FAULT = 2;

/** Runs one command to its end. Returns the exit code: 0, 1 where the command failed, 2 where it was called wrongly. */
export async function runCommandLine(args: string[]): Promise<number> {
  try {
    await call(PLANT_STORE, args);
    return 0;
  } catch (error) {
    const misused = error instanceof UsageError;
    const text = misused ? `plant-store: ${error.message}\n\n${error.usage}` : describeFailure(error);
    // Whatever it repeats, arguments or what the database says, must neither steer a terminal nor hold a token.
    console.error(escapeControlsInLines(withoutTokens(text)));
    return misused ? USAGE_FAULT : FAILURE;
  }
}
