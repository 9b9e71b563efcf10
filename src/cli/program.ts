import { Logger } from '@nestjs/common';
import { Command, CommanderError } from 'commander';
import { assertNoFaults, ConfigurationError, readConfiguration } from '../config/configuration.js';
import { defaultText, Environment, SECRETS } from '../config/environment.js';
import { assertInstalled, buildCommit, packageVersion } from '../config/package-files.js';
import { parseDatabaseUrl } from '../database/database-url.js';
import { exitCodeOf, printError } from './exit-code.js';
import { addTokenCommands, schemaOption } from './token.commands.js';

const USAGE_ERROR = 2;

/** Runs one command. Returns 0, 1 if it failed, 2 if the command line is wrong, or 78 if a variable is. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  // The output of a command is for scripts. `serve` gets a logger of its own.
  Logger.overrideLogger({ log: printError, warn: printError, error: printError });
  const run = createProgram().parseAsync(args, { from: 'user' });
  try {
    await run;
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) return exitCodeOf(() => run);
    // commander has printed the help or the fault already.
    return error.exitCode === 0 ? 0 : USAGE_ERROR;
  }
}

/** Commands load their modules when they run, so help and usage errors come at once. */
function createProgram(): Command {
  const program = new Command('plant-store')
    .description('A service that stores plants.')
    .version(`${packageVersion()} ${buildCommit() ?? ''}`.trim(), '-v, --version')
    .helpCommand(false)
    .showHelpAfterError()
    .exitOverride()
    .configureOutput({ writeErr: printError })
    .addHelpText('after', '\nplant-store serve --help lists the environment variables.')
    .addHelpText('after', 'Exit codes: 0 done, 1 failed, 2 called wrongly, 78 the configuration cannot be used.');
  program
    .command('serve')
    .description('run the service until SIGTERM, SIGINT or SIGHUP, and then answer the requests in flight')
    .addHelpText('after', ({ error }) => (error ? '' : describeEnvironment()))
    .action(async () => {
      await import('../main.js');
    });
  program
    .command('migrate')
    .description('bring the database (DATABASE_URL) to this version')
    .addOption(schemaOption())
    .addHelpText(
      'after',
      '\nWith MIGRATION_DATABASE_URL, of the owner of the tables, it grants the other role its rights.',
    )
    .action(migrate);
  program
    .command('openapi')
    .description('print the OpenAPI document that the service would serve')
    .action(printOpenApi);
  addTokenCommands(program);
  return program;
}

function describeEnvironment(): string {
  const lines = Object.keys(new Environment()).map((name) => `  ${name}=${defaultText(name)}`);
  const secrets = SECRETS.map((name) => `${name}_FILE`).join(', ');
  return `
Environment variables, with their defaults. docs/configuration.md says what they are for:

${lines.join('\n')}

A secret may be in a file, which one of these names: ${secrets}`;
}

async function migrate({ schema: given }: { schema?: string }): Promise<void> {
  const configuration = await readConfiguration();
  const environment = assertNoFaults(configuration);
  for (const warning of configuration.warnings) printError(warning);
  const { DATABASE_URL: url, DATABASE_PASSWORD: password, MIGRATION_DATABASE_URL: ownerUrl } = environment;
  if (url === undefined)
    throw new ConfigurationError(['DATABASE_URL is missing: it must be the URL of the PostgreSQL database to migrate']);
  const { user, schema } = parseDatabaseUrl(url, password, given);
  // The same URL means the same role, that of the service, with its password.
  const owner =
    ownerUrl === undefined || ownerUrl === url
      ? { url, password }
      : { url: ownerUrl, password: environment.MIGRATION_DATABASE_PASSWORD, grantTo: user };
  const { Migrator } = await import('../database/migrator.js');
  const applied = await new Migrator({ ...owner, schema }).migrate();
  const { schemaDescription } = parseDatabaseUrl(owner.url, owner.password, schema);
  process.stdout.write(
    `${schemaDescription}: ${applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date'}\n`,
  );
}

/** Prints the document that the service would serve. It connects to nothing. */
async function printOpenApi(): Promise<void> {
  const unused = { DATABASE_URL: 'postgresql://localhost/plants', NODE_ENV: 'test', LOG_LEVEL: 'fatal', DOCS: 'off' };
  const environment = assertNoFaults(await readConfiguration(unused));
  assertInstalled();
  const { createApp } = await import('../app.js');
  const { createOpenApiDocument } = await import('../server/openapi.js');
  const document = createOpenApiDocument(await createApp(environment), environment);
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
}
