import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PostgresBinaries } from './binaries.js';
import { EmbeddedPostgresError } from './errors.js';
import type { ServerHome, ServerUser } from './server-home.js';
import { readIfExists, spawnProgram } from './server.js';

const DRAFT = '.postgres-init-';
// The encoding and the order of texts are PostgreSQL's own: the system needs no locale.
const ENCODING = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

/** Makes the data directory if there is none yet; returns the password of the user `postgres`. */
export async function prepareDataDirectory(home: ServerHome, binaries: PostgresBinaries): Promise<string> {
  for (const entry of await readdir(home.folder)) if (entry.startsWith(DRAFT)) await discard(join(home.folder, entry));
  const password = await readPassword(home);
  if (!existsSync(home.data)) return initialise(home, binaries, password ?? (await makePassword(home)));
  if (!existsSync(join(home.data, 'PG_VERSION'))) {
    throw new EmbeddedPostgresError(
      `${home.data} is not a PostgreSQL data directory: it has no file PG_VERSION. Move it away and start again.`,
    );
  }
  if (password !== undefined) return password;
  throw new EmbeddedPostgresError(
    `The password file ${home.passwordFile} of the data in ${home.data} is missing or empty. ` +
      'Restore it or, to begin with an empty store, move the data away.',
  );
}

/** The password of the user `postgres`, if there is one yet. */
export async function readPassword(home: ServerHome): Promise<string | undefined> {
  const password = (await readIfExists(home.passwordFile))?.trim();
  return password === '' ? undefined : password;
}

/** Makes a data directory in a folder that is the user's own, and returns its path. */
export async function initdb(
  folder: string,
  binaries: PostgresBinaries,
  user: ServerUser,
  password: string,
): Promise<string> {
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  await user.own(passwordFile);
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const args = [`--pgdata=${data}`, ...ENCODING, ...access, '--no-instructions'];
  const output = join(folder, 'output');
  const [code] = (await once(spawnProgram(binaries.initdb, args, user, folder, output), 'exit')) as [number | null];
  if (code === 0) return data;
  const lines = (await readFile(output, 'utf8')).trim().split('\n').slice(-5);
  throw new EmbeddedPostgresError(`initdb failed with code ${String(code)}:\n${lines.join('\n')}`);
}

/** Elsewhere first and then renamed, so that an interrupted initdb never looks like a data directory. */
async function initialise(home: ServerHome, binaries: PostgresBinaries, password: string): Promise<string> {
  const draft = await home.user.makeFolder(home.folder, DRAFT);
  try {
    await rename(await initdb(draft, binaries, home.user, password), home.data);
    await flush(home.folder);
    return password;
  } finally {
    await discard(draft);
  }
}

/** If the owner of an initdb was killed, the initdb fails without its folder. A folder that cannot be removed does no harm. */
async function discard(draft: string): Promise<void> {
  await rm(draft, { recursive: true, force: true, maxRetries: 10 }).catch(() => undefined);
}

/** On the disk before there are data that it opens. */
async function makePassword(home: ServerHome): Promise<string> {
  const password = randomBytes(24).toString('base64url');
  const draft = `${home.passwordFile}.new`;
  await rm(draft, { force: true });
  await writeFile(draft, password, { mode: 0o600, flag: 'wx', flush: true });
  await rename(draft, home.passwordFile);
  await flush(home.folder);
  return password;
}

// A rename lasts only when its folder is on the disk. Windows has no such call.
async function flush(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}
