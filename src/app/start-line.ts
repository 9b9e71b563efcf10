import type { INestApplication } from '@nestjs/common';
import { Database } from '../database/database.js';
import { parseDatabaseUrl } from '../database/database-url.js';
import { ManagementServer } from '../management/management-server.js';
import { packageVersion } from '../util/package-files.cjs';
import type { AppOptions } from './app.module.js';

/** What was started, with which database and how. It never rejects: a version that the database does not tell is left out. */
export async function describeStart(app: INestApplication, options: AppOptions): Promise<Record<string, unknown>> {
  const { schema, description } = parseDatabaseUrl(options.databaseUrl, options.databasePassword);
  const { address = '', family, port } = app.get(ManagementServer, { strict: false }).address() ?? {};
  return {
    version: packageVersion(),
    node: process.version,
    pid: process.pid,
    public: await app.getUrl(),
    management: `http://${family === 'IPv6' ? `[${address}]` : address}:${String(port)}`,
    database: description,
    schema,
    databaseVersion: await databaseVersion(app.get(Database, { strict: false })),
    databasePoolSize: options.databasePoolSize,
    errorStatus: options.errorStatus,
    production: options.production,
  };
}

async function databaseVersion({ query }: Database): Promise<string | undefined> {
  const rows = await query<{ version: string }>(`SELECT current_setting('server_version') AS version`).catch(() => []);
  return rows[0]?.version;
}
