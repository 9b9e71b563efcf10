import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Environment, hasNoConfiguredToken } from '../config/environment.js';
import { packageVersion } from '../config/package-files.js';
import { Migrator } from '../database/migrator.js';
import { EmbeddedPostgres, LOCAL_DIRECTORY, LOCAL_URL_FILE, SERVER_TIMEOUT_MS } from './embedded-postgres.js';

const LOCAL_TOKEN_FILE = join(LOCAL_DIRECTORY, 'access-token');

/** The embedded PostgreSQL of a service without DATABASE_URL, with its tables and, if none is configured, a token. */
export class LocalDatabase {
  private constructor(
    readonly postgres: EmbeddedPostgres,
    /** The configuration with the URL and the token. */
    readonly environment: Environment,
    /** The token that the service made for itself. */
    private readonly token?: string,
  ) {}

  /** Starts the server and migrates it. */
  static async open(configured: Environment): Promise<LocalDatabase> {
    // As long as the stop of a service may take, and of its server.
    const wait = configured.SHUTDOWN_TIMEOUT + SERVER_TIMEOUT_MS;
    const postgres = await EmbeddedPostgres.start(LOCAL_DIRECTORY, wait);
    try {
      await new Migrator({ url: postgres.url }).migrate();
      // The port may differ at each start.
      await writeSecret(LOCAL_URL_FILE, postgres.url);
      const token = hasNoConfiguredToken(configured) ? await localToken() : undefined;
      const ACCESS_TOKENS = token === undefined ? configured.ACCESS_TOKENS : [token];
      const own = { DATABASE_URL: postgres.url, ACCESS_TOKENS };
      return new LocalDatabase(postgres, Object.assign(new Environment(), configured, own), token);
    } catch (error) {
      await new LocalDatabase(postgres, configured).close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.postgres.stop();
    // Another program may get the port later, and must not get the password.
    await rm(LOCAL_URL_FILE, { force: true });
  }

  /** Prints how to use the store. */
  printSummary(url: string): void {
    const { BASE_PATH, DOCS } = this.environment;
    const { token } = this;
    const lines = ['', `Plant Store ${packageVersion()}`, '', `  Plants  ${url}${BASE_PATH}/plants`];
    // A browser does not send the part after #.
    if (DOCS === 'on') lines.push(`  Docs    ${url}/docs${token === undefined ? '' : `#token=${token}`}`);
    lines.push(`  Data    ${this.postgres.location}`, '');
    if (token !== undefined) {
      // A new id each time lets the line be used again.
      const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
      const headers = `-H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json'`;
      lines.push('Create a plant:', '', `curl -X POST ${url}${BASE_PATH}/plants ${headers} -d '${plant}'`, '');
    }
    lines.push('Look into the database:', '', 'psql "$(cat .data/database-url)"', '');
    console.log(lines.join('\n'));
  }
}

/** Reads the access token of the local folder, or makes it at the first start. */
async function localToken(): Promise<string> {
  const kept = await readFile(LOCAL_TOKEN_FILE, 'utf8').catch(() => '');
  if (kept !== '') return kept.trim();
  const token = randomBytes(24).toString('base64url');
  await writeSecret(LOCAL_TOKEN_FILE, token);
  return token;
}

/** Writes a file that only this user can read. */
async function writeSecret(path: string, secret: string): Promise<void> {
  await rm(path, { force: true });
  await writeFile(path, `${secret}\n`, { mode: 0o600, flag: 'wx' });
}
