import { ConfigurationError } from '../app/config-error.js';
import { loadEnvironment } from '../app/config.js';
import { parseDatabaseUrl } from '../database/database-url.js';
import { schemaFault } from '../database/database.options.js';
import { Migrator } from '../database/migrations/migrator.js';
import type { MigratorOptions } from '../database/migrations/migrator.options.js';
import { endBySignal } from './output.js';
import { quoteArgument, UsageError } from './parser.js';

type Options = Readonly<{ schema?: string; 'trust-owner'?: string[]; 'lock-wait'?: string }>;

export async function migrate({ 'lock-wait': lockWait = '60', ...options }: Options): Promise<void> {
  if (!/^\d{1,4}$/.test(lockWait))
    throw new UsageError(`--lock-wait is ${quoteArgument(lockWait)}, should be a number of seconds from 0 to 9999`);
  const migrator = new Migrator({ ...migrationOptions(options), lockWait: Number(lockWait) * 1000 });
  endBySignal(() => migrator.cancel());
  const applied = await migrator.migrate();
  const result = applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date';
  console.log(`${migrator.place}: ${result}`);
}

/** The database of the environment, as the owner of its tables. */
function migrationOptions({ schema, 'trust-owner': trustOwners }: Options): MigratorOptions {
  const environment = loadEnvironment(process.env);
  const { databaseUrl, databasePassword, migrationDatabaseUrl, migrationDatabasePassword } = environment;
  const service = databaseUrl === undefined ? undefined : parseDatabaseUrl(databaseUrl, databasePassword);
  const { url, ...others } =
    migrationDatabaseUrl === undefined
      ? { url: databaseUrl, password: databasePassword }
      : { url: migrationDatabaseUrl, password: migrationDatabasePassword, grantTo: service?.user };
  const fault = schemaFault(schema);
  const faults = fault === undefined ? [] : [`--schema: ${fault}`];
  if (url === undefined)
    faults.unshift('DATABASE_URL: is missing, should be the URL of the PostgreSQL database to migrate');
  if (url === undefined || faults.length > 0) throw new ConfigurationError(faults);
  return { url, ...others, trustOwners, schema: schema ?? service?.schema };
}
