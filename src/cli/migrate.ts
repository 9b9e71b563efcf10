import { parseDatabaseUrl } from '../database/database-url.js';
import { type MigratorOptions, schemaFault } from '../database/database.options.js';
import { Migrator } from '../database/migrator.js';
import { ConfigurationError, loadEnvironment } from '../service/environment.js';
import { endBySignal } from './output.js';

export async function migrate({ schema }: { schema?: string }): Promise<void> {
  const options = migrationOptions(schema);
  // What is left unfinished is undone by the server.
  endBySignal(() => Promise.resolve());
  const applied = await new Migrator(options).migrate();
  const result = applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date';
  console.log(`${parseDatabaseUrl(options.url, options.password, options.schema).place}: ${result}`);
}

/** The database of the environment, as the owner of its tables. */
function migrationOptions(schema: string | undefined): MigratorOptions {
  const environment = loadEnvironment(process.env);
  const { DATABASE_URL: databaseUrl, DATABASE_PASSWORD: databasePassword } = environment;
  const service = databaseUrl === undefined ? undefined : parseDatabaseUrl(databaseUrl, databasePassword);
  const { url, ...others } =
    environment.MIGRATION_DATABASE_URL === undefined
      ? { url: databaseUrl, password: databasePassword }
      : {
          url: environment.MIGRATION_DATABASE_URL,
          password: environment.MIGRATION_DATABASE_PASSWORD,
          grantTo: service?.user,
        };
  const fault = schemaFault(schema);
  const faults = fault === undefined ? [] : [`--schema: ${fault}`];
  if (url === undefined)
    faults.unshift('DATABASE_URL: is missing, should be the URL of the PostgreSQL database to migrate');
  if (url === undefined || faults.length > 0) throw new ConfigurationError(faults);
  return { url, ...others, schema: schema ?? service?.schema };
}
