import { randomBytes } from 'node:crypto';
import { open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import { hasCode } from './has-code.js';
import { Initdb } from './initdb.js';
import type { PostgresPrograms } from './postgres-programs.js';
import type { ServerHome } from './server-home.js';

const DRAFT = '.postgres-init-';

/** Makes the data directory if there is none yet; tells the password of the user `postgres`. */
export async function prepareDataDirectory(home: ServerHome, programs: PostgresPrograms): Promise<string> {
  for (const entry of await readdir(home.folder)) {
    if (entry.startsWith(DRAFT)) await new Initdb(join(home.folder, entry)).discard();
  }
  const password = await readPassword(home);
  if (!(await exists(home.data))) return initialise(home, programs, password ?? (await makePassword(home)));
  if (!(await exists(join(home.data, 'PG_VERSION')))) {
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

/** Elsewhere first and then renamed, so that an interrupted initdb never looks like a data directory. */
async function initialise(home: ServerHome, programs: PostgresPrograms, password: string): Promise<string> {
  const initdb = new Initdb(await home.user.makeFolder(home.folder, DRAFT));
  try {
    await initdb.run(programs, home.user, password);
    await rename(initdb.data, home.data);
    await flush(home.folder);
    return password;
  } finally {
    await initdb.discard();
  }
}

/** The password of the user `postgres`, if there is one yet. */
export async function readPassword(home: ServerHome): Promise<string | undefined> {
  try {
    const password = (await readFile(home.passwordFile, 'utf8')).trim();
    return password === '' ? undefined : password;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
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

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
