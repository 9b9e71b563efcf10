import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Environment } from '../config/environment.js';
import { EmbeddedPostgres } from '../database/embedded/embedded-postgres.js';
import { Migrator } from '../database/migrator.js';

const DIRECTORY = '.data';

/** What a developer has not set up: a database with its tables, and an access token. */
export class LocalSetup {
  private constructor(
    readonly environment: Environment,
    private readonly postgres: EmbeddedPostgres,
  ) {}

  static async start(environment: Environment): Promise<LocalSetup> {
    const directory = resolve(DIRECTORY);
    await mkdir(directory, { recursive: true });
    const postgres = await EmbeddedPostgres.start({ directory, log: console.log });
    try {
      await new Migrator({ url: postgres.url }).migrate();
      const { accessTokens } = environment;
      return new LocalSetup(
        Object.assign(environment, {
          databaseUrl: postgres.url,
          accessTokens: accessTokens.length > 0 ? accessTokens : [await localToken(join(directory, 'access-token'))],
        }),
        postgres,
      );
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** Prints a command that creates a plant, and another one each time: its id is the time. */
  announce(url: string): void {
    const { basePath, accessTokens, docs } = this.environment;
    const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
    console.log(`
The plant store runs, on a PostgreSQL of its own (data in ${this.postgres.location}). Create a plant:

curl -X POST ${url}${basePath}/plants -H 'Authorization: Bearer ${accessTokens[0] ?? ''}' -H 'Content-Type: application/json' -d '${plant}'
${docs ? `\nOr explore it: ${url}/docs\n` : ''}`);
  }

  stop(): Promise<void> {
    return this.postgres.stop();
  }
}

/** The token kept in this file, made at the first start. */
async function localToken(file: string): Promise<string> {
  try {
    await writeFile(file, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return (await readFile(file, 'utf8')).trim();
}
