// `plant-store migrate` as the owner of the tables. The volume of an earlier version has one role, which owns them and serves:
// there it migrates as that one, with a warning. So does a deployment that names one database URL only.
import pg from 'pg';
import { loadEnvironment } from '../../dist/service/environment.js';
import { parseDatabaseUrl } from '../../dist/database/database-url.js';

const { env } = process;

if (env.MIGRATION_DATABASE_URL === env.DATABASE_URL) {
  forgetOwner();
} else {
  const owner = await missingOwner();
  if (owner !== undefined) {
    console.error(
      `There is no role ${owner} in this database, so the role of the service owns its tables and can drop them. ` +
        'docs/operations.md, "From one role to two", says how to change it.',
    );
    forgetOwner();
  }
}
// In this process, which gets the signals of the container.
process.argv.push('migrate');
await import('../../dist/main.js');

function forgetOwner() {
  delete env.MIGRATION_DATABASE_URL;
  delete env.MIGRATION_DATABASE_PASSWORD_FILE;
}

/** The role of MIGRATION_DATABASE_URL, if the database can be asked, and does not have it. */
async function missingOwner() {
  let client;
  try {
    const { DATABASE_URL, DATABASE_PASSWORD, MIGRATION_DATABASE_URL } = loadEnvironment(env);
    const { user } = parseDatabaseUrl(MIGRATION_DATABASE_URL);
    const { config } = parseDatabaseUrl(DATABASE_URL, DATABASE_PASSWORD);
    client = new pg.Client({ ...config, connectionTimeoutMillis: 10_000, query_timeout: 10_000 });
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM pg_catalog.pg_roles WHERE rolname = $1::name', [user]);
    return rowCount === 0 ? user : undefined;
  } catch {
    // The command reports what is wrong.
    return undefined;
  } finally {
    await client?.end().catch(() => undefined);
  }
}
