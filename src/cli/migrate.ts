import { ConfigurationError } from '../app/config-error.js';
import { loadEnvironment } from '../app/config.js';
import { schemaFaults } from '../database/database.options.js';
import { Migrator } from '../database/migrations/migrator.js';

/** `plant-store migrate`: applies the migrations that the database lacks. It may run many times, and in many places at once. */
export async function migrate({ schema }: { schema?: string }): Promise<void> {
  const { databaseUrl, databasePassword } = loadEnvironment(process.env);
  const faults = schemaFaults('--schema', schema);
  if (databaseUrl === undefined) {
    faults.unshift('DATABASE_URL: is missing, should be the URL of the PostgreSQL database to migrate');
  }
  if (databaseUrl === undefined || faults.length > 0) throw new ConfigurationError(faults);
  const migrator = new Migrator({ url: databaseUrl, password: databasePassword, schema });
  const applied = await migrator.migrate();
  const result = applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date';
  console.log(`${migrator.place}: ${result}`);
}
