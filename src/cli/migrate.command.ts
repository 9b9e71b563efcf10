import { loadEnvironment } from '../config/load-environment.js';
import { ConfigurationError } from '../config/configuration.error.js';
import { Migrator } from '../database/migrator.js';

/** `plant-store migrate`: applies what the database lacks. Safe to run many times and from many places at once. */
export async function migrate({ schema }: { schema?: string }): Promise<void> {
  // Migrating needs no access token, so none is demanded.
  const { databaseUrl, databasePassword } = loadEnvironment({ ...process.env, NODE_ENV: 'development' });
  if (databaseUrl === undefined) {
    throw new ConfigurationError(['DATABASE_URL: is missing, should be the URL of the PostgreSQL database to migrate']);
  }
  const migrator = new Migrator({ url: databaseUrl, password: databasePassword, schema });
  const applied = await migrator.migrate();
  const what = applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date';
  console.log(`${migrator.place}: ${what}`);
}
