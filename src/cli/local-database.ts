import { randomBytes } from 'node:crypto';
import { constants, existsSync, type Stats } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { EmbeddedPostgres } from '../service/embedded-postgres/embedded-postgres.js';
import { ConfigurationError } from '../service/environment.js';
import { reasonOf } from '../util/text.js';

/** The folder of what the service makes for itself: the data of the embedded PostgreSQL and an access token. */
export const LOCAL_DIRECTORY = resolve('.data');
const LOCAL_TOKEN = join(LOCAL_DIRECTORY, 'access-token');
const LOCAL_URL = join(LOCAL_DIRECTORY, 'database-url');
/** Mode bits: group and others may write. Windows has no such modes. */
const OTHERS_WRITE = process.platform === 'win32' ? 0 : 0o022;

/** Starts an embedded PostgreSQL of this process, with the tables of this build, and writes its URL into a file, for psql. */
export async function startLocalDatabase(log: (line: string) => void = console.log): Promise<EmbeddedPostgres> {
  // Loaded only here: an installation for production has no embedded server.
  const { EmbeddedPostgres } = await import('../service/embedded-postgres/embedded-postgres.js');
  const { Migrator } = await import('../database/migrator.js');
  await ownLocalDirectory(log);
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
    // Standard output is for what the command prints.
    return await startLocalDatabase(console.error);
  } catch (error) {
    const { FolderInUseError } = await import('../service/embedded-postgres/embedded-postgres.js');
    if (!(error instanceof FolderInUseError)) throw error;
    return { url: (await readFile(LOCAL_URL, 'utf8')).trim(), stop: () => Promise.resolve() };
  }
}

/** The access token in the local folder, made at the first start. @throws ConfigurationError if somebody else may have chosen it */
export async function localToken(): Promise<string> {
  const { uid } = await ownLocalDirectory();
  return explainToken(async () => (await readToken(LOCAL_TOKEN, uid)) || (await makeToken(LOCAL_TOKEN)));
}

/** Changes nothing. @throws ConfigurationError as `localToken` */
export async function inspectLocalToken(): Promise<void> {
  if (!existsSync(LOCAL_TOKEN)) return;
  const { uid } = await stat(LOCAL_DIRECTORY);
  await explainToken(() => readToken(LOCAL_TOKEN, uid));
}

async function explainToken(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (cause) {
    const advice = 'should be a file that only this user may write: remove it, and the next start makes a new one';
    throw new ConfigurationError([`${LOCAL_TOKEN}: ${reasonOf(cause)}, ${advice}`], false, { cause });
  }
}

/** Makes the local folder writable for its owner only, with any umask: others could replace what is in it. */
async function ownLocalDirectory(log: (line: string) => void = console.log): Promise<Stats> {
  try {
    await mkdir(LOCAL_DIRECTORY, { recursive: true, mode: 0o755 });
    const folder = await stat(LOCAL_DIRECTORY);
    if ((folder.mode & OTHERS_WRITE) === 0) return folder;
    await chmod(LOCAL_DIRECTORY, folder.mode & ~OTHERS_WRITE);
    log(`Other users could write ${LOCAL_DIRECTORY}; from now on only its owner can`);
    return folder;
  } catch (cause) {
    const advice = 'should be a folder that only its owner may write (chmod go-w)';
    throw new ConfigurationError([`${LOCAL_DIRECTORY}: ${reasonOf(cause)}, ${advice}`], false, { cause });
  }
}

/** Empty if there is none. What is checked is the open file, which cannot be exchanged before it is read. */
async function readToken(path: string, folderOwner: number): Promise<string> {
  if (!existsSync(path)) return '';
  // A link could lead to a file that others know; the end of a pipe could wait for ever.
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const found = await file.stat();
  const { mode, uid } = found;
  if (!found.isFile() || found.nlink > 1) throw new Error('is a link, or no file');
  if ((mode & OTHERS_WRITE) !== 0) throw new Error('may be written by other users');
  if (![0, process.getuid?.(), folderOwner].includes(uid)) throw new Error(`belongs to another user (uid ${uid})`);
  return (await file.readFile('utf8')).trim();
}

async function makeToken(path: string): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  await writeSecret(path, token);
  return token;
}

/** Writes a file that only this user can read. It is renamed when it is complete: a crash must not leave an empty one. */
async function writeSecret(path: string, secret: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  await rm(draft, { force: true });
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await rename(draft, path);
}
