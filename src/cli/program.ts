import { Command, CommanderError } from 'commander';
import { parseDatabaseUrl } from '../prisma/database-url.js';
import { assertInstalled, buildCommit, packageVersion } from '../config/package-files.js';
import { assertNoFaults, ConfigurationError, readConfiguration } from '../config/configuration.js';
import { defaultText, SECRETS } from '../config/environment.js';
import { VARIABLES } from '../config/variable.js';
import { exitCodeOf, printError } from '../server/process.js';
import { print, table } from './output.js';
import { addTokenCommands, schemaOption } from './token.commands.js';

const USAGE_ERROR = 2;

/** Runs one command. Returns 0, 1 if it failed, 2 if the command line is wrong, or 78 for a configuration that cannot be used. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let usage: number | undefined;
  const code = await exitCodeOf(() =>
    createProgram()
      .parseAsync(args, { from: 'user' })
      .catch((error: unknown) => {
        // commander has printed the help or the fault already.
        if (!(error instanceof CommanderError)) throw error;
        usage = error.exitCode === 0 ? 0 : USAGE_ERROR;
      }),
  );
  return usage ?? code;
}

/** Commands load their modules when they run, so help and usage errors come at once. */
function createProgram(): Command {
  const program = new Command('plant-store')
    .description('A service that stores plants.')
    .version(`${packageVersion()} ${buildCommit() ?? ''}`.trim(), '-v, --version')
    .helpCommand(false)
    .showHelpAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        console.log(text.trimEnd());
      },
      writeErr: printError,
      outputError: (text, printText) => {
        printText(text.replace(/^error: /, 'plant-store: '));
      },
    })
    .addHelpText(
      'after',
      `
Exits with 0, with 1 if the command failed, with 2 if it was called wrongly, or with 78 if the configuration
cannot be used, which no restart changes. plant-store serve --help lists the environment variables.`,
    );
  program
    .command('serve')
    .description('run the service until SIGTERM, SIGINT or SIGHUP, and then answer the requests in flight')
    .option(
      '--check',
      'only say all that the start would refuse or warn of, but for ports that are taken. It changes nothing, and starts no ' +
        'database. It exits with 0 if the service can start, with 78 if a fault stays, and with 1 if all may pass',
    )
    .addHelpText('after', ({ error }) => (error ? '' : describeEnvironment()))
    .action(async (options: { check?: true }) => {
      if (options.check) await (await import('./serve-check.js')).checkStart();
      else await import('../main.js');
    });
  program
    .command('migrate')
    .description('bring the database (DATABASE_URL) to this version')
    .addOption(schemaOption())
    .addHelpText(
      'after',
      `
With MIGRATION_DATABASE_URL it works as that role, the owner of the tables, and grants the role of DATABASE_URL what
the service needs. It waits 30 seconds for another migration, and 2 for any other lock. Then it exits with 1: run it again.`,
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
  const rows = Array.from(VARIABLES, ([name, about]) => ['', name, defaultText(name), about]);
  const secrets = SECRETS.map((name) => `${name}_FILE`).join(', ');
  return `
Environment variables, with their defaults:

${table(rows)}

A secret may be in a file, which one of these names: ${secrets}`;
}

async function migrate({ schema: given }: { schema?: string }): Promise<void> {
  const environment = assertNoFaults(await readConfiguration());
  const { DATABASE_URL: url, DATABASE_PASSWORD: password, MIGRATION_DATABASE_URL: ownerUrl } = environment;
  if (url === undefined)
    throw new ConfigurationError(['DATABASE_URL: is missing, should be the URL of the PostgreSQL database to migrate']);
  const { user, schema } = parseDatabaseUrl(url, password, given);
  // The same URL means the same role, that of the service, with its password.
  const owner =
    ownerUrl === undefined || ownerUrl === url
      ? { url, password }
      : { url: ownerUrl, password: environment.MIGRATION_DATABASE_PASSWORD, grantTo: user };
  const { Migrator } = await import('../prisma/migrator.js');
  const applied = await new Migrator({ ...owner, schema }).migrate();
  const { schemaDescription } = parseDatabaseUrl(owner.url, owner.password, schema);
  await print(`${schemaDescription}: ${applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date'}`);
}

/** Prints the document that the service would serve. It connects to nothing. */
async function printOpenApi(): Promise<void> {
  const environment = assertNoFaults(await readConfiguration({ NODE_ENV: 'development', LOG_LEVEL: 'fatal' }));
  const DATABASE_URL = environment.DATABASE_URL ?? 'postgresql://localhost/plants';
  const options = Object.assign(environment, { DATABASE_URL, DOCS: false });
  assertInstalled();
  const { createApp } = await import('../app.js');
  const { createOpenApiDocument } = await import('../server/openapi.js');
  await print(JSON.stringify(createOpenApiDocument(await createApp(options), options), null, 2));
}
