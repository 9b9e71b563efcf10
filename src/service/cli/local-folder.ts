import { randomBytes } from 'node:crypto';
import { existsSync, type Stats } from 'node:fs';
import { lstat, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { reasonOf } from '../../util/text.js';
import type { EmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';
import { ConfigurationError } from '../environment.js';

/** The folder of what the service makes for itself: the data of the embedded PostgreSQL, its URL, and an access token. */
export const LOCAL_DIRECTORY = resolve('.data');
const LOCAL_TOKEN = join(LOCAL_DIRECTORY, 'access-token');
const LOCAL_URL = join(LOCAL_DIRECTORY, 'database-url');
/** Mode bits: group and others may write. */
const OTHERS_WRITE = 0o022;

/** Starts an embedded PostgreSQL of this process, with the tables of this build, and writes its URL into a file, for psql. */
export async function startLocalDatabase(): Promise<EmbeddedPostgres> {
  // Loaded only here: an installation for production has no embedded server.
  const { EmbeddedPostgres } = await import('../embedded-postgres/embedded-postgres.js');
  const { Migrator } = await import('../../database/migrator.js');
  await makeLocalDirectory();
  const postgres = await EmbeddedPostgres.start(LOCAL_DIRECTORY);
  try {
    await new Migrator({ url: postgres.url }).migrate();
    // At each start, as the port may be another one.
    await writeSecret(LOCAL_URL, postgres.url);
    return postgres;
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** The embedded PostgreSQL of `plant-store serve`: the running one or, if none runs, one of this process. */
export async function useLocalDatabase(): Promise<Pick<EmbeddedPostgres, 'url' | 'stop'>> {
  if (!existsSync(LOCAL_DIRECTORY)) {
    throw new ConfigurationError([
      `DATABASE_URL: is missing, should be the URL of the PostgreSQL database of the service; ` +
        `there is no embedded one here either: nothing was ever started in this folder (no ${LOCAL_DIRECTORY})`,
    ]);
  }
  try {
    return await startLocalDatabase();
  } catch (error) {
    const { FolderInUseError } = await import('../embedded-postgres/embedded-postgres.js');
    if (!(error instanceof FolderInUseError)) throw error;
    return { url: (await readFile(LOCAL_URL, 'utf8')).trim(), stop: () => Promise.resolve() };
  }
}

/** The access token in the local folder, made at the first start. @throws ConfigurationError if somebody else may have chosen it */
export async function localToken(): Promise<string> {
  await makeLocalDirectory();
  const kept = await readLocalToken();
  if (kept !== '') return kept;
  const token = randomBytes(24).toString('base64url');
  await writeSecret(LOCAL_TOKEN, token);
  return token;
}

/** Empty if there is none. @throws ConfigurationError if somebody else may have chosen it, or may do so at any time */
export async function readLocalToken(): Promise<string> {
  if (!existsSync(LOCAL_DIRECTORY)) return '';
  const folder = await ownFolder();
  const file = await lstat(LOCAL_TOKEN).catch(() => undefined);
  if (file === undefined) return '';
  const isOwn = [0, process.getuid?.(), folder.uid].includes(file.uid);
  // A link could lead to a file that others know.
  if (isOwn && file.isFile() && file.nlink === 1 && (file.mode & OTHERS_WRITE) === 0)
    return (await readFile(LOCAL_TOKEN, 'utf8')).trim();
  const advice = 'should be a file that only this user may write: remove it, and the next start makes a new one';
  throw new ConfigurationError([`${LOCAL_TOKEN}: others may have written it, or it is no file, ${advice}`]);
}

/** Writable for its owner only, with any umask. */
async function makeLocalDirectory(): Promise<void> {
  try {
    await mkdir(LOCAL_DIRECTORY, { recursive: true, mode: 0o755 });
  } catch (cause) {
    const advice = 'should be a folder that this user may make and write. Start in another folder, or set DATABASE_URL';
    throw new ConfigurationError([`${LOCAL_DIRECTORY}: ${reasonOf(cause)}, ${advice}`], false, { cause });
  }
  await ownFolder();
}

/** @throws ConfigurationError if others could replace what is in the local folder */
async function ownFolder(): Promise<Stats> {
  const folder = await stat(LOCAL_DIRECTORY);
  if (folder.isDirectory() && (folder.mode & OTHERS_WRITE) === 0) return folder;
  const advice = 'should be a folder that only its owner may write: chmod go-w, or remove it';
  throw new ConfigurationError([`${LOCAL_DIRECTORY}: others may write it, or it is no folder, ${advice}`]);
}

/** Writes a file that only this user can read. It is renamed when it is complete: a crash must not leave an empty one. */
async function writeSecret(path: string, secret: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  await rm(draft, { force: true });
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await rename(draft, path);
}
