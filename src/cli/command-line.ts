import { parseArgs } from 'node:util';
import { describeFailure } from './describe-failure.js';
import { packageVersion } from '../package-version.js';

const USAGE = `plant-store: a service that stores plants

  plant-store serve      run the service
  plant-store migrate    bring the database (DATABASE_URL) to this version, in the PostgreSQL schema
                         of the URL, or: --schema NAME
  plant-store openapi    print the OpenAPI document

  --help, --version

Configuration comes from environment variables; the README lists them.`;

type Command = (options: { schema?: string }) => Promise<void>;

// Each is loaded only when it is called: help and refusals come without the framework.
const COMMANDS: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./serve.command.js')).serve,
  migrate: async () => (await import('./migrate.command.js')).migrate,
  openapi: async () => (await import('./openapi.command.js')).openapi,
};
const USAGE_FAULT = 2;

/** Runs one command to its end. Returns the exit code: 0, 1 where the command failed, 2 where it was called wrongly. */
export async function runCommandLine(args: string[]): Promise<number> {
  let call;
  try {
    call = parseArgs({
      args,
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        schema: { type: 'string' },
      },
    });
  } catch (error) {
    return misused((error as Error).message.split('. ', 1)[0] ?? '');
  }
  const { values, positionals } = call;
  if (values.help) return tell(USAGE);
  if (values.version) return tell(packageVersion());
  const [name, ...rest] = positionals;
  const load = name === undefined || !Object.hasOwn(COMMANDS, name) ? undefined : COMMANDS[name];
  if (load === undefined) return misused(name === undefined ? 'a command is missing' : `there is no command "${name}"`);
  if (rest.length > 0) return misused(`${name} takes no "${rest.join(' ')}"`);
  if (values.schema !== undefined && name !== 'migrate') return misused('only migrate takes --schema');
  try {
    const command = await load();
    await command(values);
    return 0;
  } catch (error) {
    console.error(describeFailure(error));
    return 1;
  }
}

function tell(text: string): number {
  console.log(text);
  return 0;
}

function misused(fault: string): number {
  console.error(`plant-store: ${fault}\n\n${USAGE}`);
  return USAGE_FAULT;
}
