import pg from 'pg';

/** Jest's globalTeardown: leaves neither server nor folder nor database behind. */
export default async function globalTeardown() {
  if (globalThis.stopTestServer) {
    await globalThis.stopTestServer();
    // In watch mode a setup follows, which must not take that server for one of the user's.
    delete globalThis.stopTestServer;
    delete process.env.TEST_DATABASE_URL;
  } else await dropDatabases(process.env.TEST_DATABASE_URL, process.env.TEST_DATABASE_PREFIX);
}

async function dropDatabases(connectionString, prefix) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT datname FROM pg_database WHERE starts_with(datname, $1)', [prefix]);
    for (const { datname } of rows) await client.query(`DROP DATABASE "${datname}" WITH (FORCE)`);
  } finally {
    await client.end();
  }
}
