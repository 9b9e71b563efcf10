import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, EmbeddedPostgresError } from './binaries.js';
import { type FolderLock, type ServerHome, spawnProgram } from './server.js';

const run = promisify(execFile);

/** Where root keeps what the server's user cannot reach in root's own folders. */
const SHARED_FOLDER = '/var/lib/plant-store';
/** In the data directory, so that they are made together. */
const PASSWORD_FILE = 'plant-store.password';
// The encoding and the order of texts are PostgreSQL's own: the system needs no locale.
const ENCODING = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

/** In `directory` or, if root runs us and no other user can enter that, in the shared folder. */
export async function findHome(directory: string): Promise<ServerHome> {
  const folder = await realpath(directory);
  const shared = join(SHARED_FOLDER, createHash('sha256').update(folder).digest('hex').slice(0, 12));
  const isRoot = process.getuid?.() === 0;
  // Existing data decide: an empty store elsewhere would look like a loss.
  for (const home of isRoot ? [folder, shared] : [folder]) {
    const owner = await stat(join(home, 'postgres')).catch(() => undefined);
    if (owner) return homeIn(home, isRoot ? { uid: owner.uid, gid: owner.gid } : {});
  }
  const account = await serverAccount();
  if (!isRoot || (await canEnter(folder, account))) return homeIn(folder, account);
  await mkdir(shared, { recursive: true });
  // With any umask.
  for (const each of [SHARED_FOLDER, shared]) await chmod(each, 0o711);
  return homeIn(shared, account);
}

function homeIn(folder: string, account: Account): ServerHome {
  return { folder, data: join(folder, 'postgres'), log: join(folder, 'postgres.log'), account };
}

/** PostgreSQL refuses to run as root: an existing user in root's place, as only the administrator makes users. */
export async function serverAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  const users = await readFile('/etc/passwd', 'utf8');
  for (const name of ['postgres', 'nobody']) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(-?\\d+):(-?\\d+):`, 'm').exec(users) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new EmbeddedPostgresError(
    'PostgreSQL refuses to run as root, and there is neither a user "postgres" nor a user "nobody" to run it as. ' +
      'Start as another user, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

/** Tried, because modes say nothing of ACLs and mounts. */
function canEnter(folder: string, account: Account): Promise<boolean> {
  return run('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/** Makes the data directory if there is none yet; returns the password of the user `postgres`. */
export async function prepareData(home: ServerHome, programs: string, lock: FolderLock): Promise<string> {
  if (!existsSync(home.data)) await makeData(home, programs, lock);
  try {
    return await readFile(join(home.data, PASSWORD_FILE), 'utf8');
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `${home.data} is no data directory of the plant store that this user can read: it has no file ${PASSWORD_FILE}. ` +
        'Start as its owner or as root, move it away, or set DATABASE_URL.',
      { cause },
    );
  }
}

/** Elsewhere first and then renamed, so that an interrupted start leaves nothing that looks like a data directory. */
async function makeData({ folder, data, account }: ServerHome, programs: string, lock: FolderLock): Promise<void> {
  const draft = join(folder, 'postgres-draft');
  const [made, password, output] = [join(draft, 'data'), join(draft, 'password'), join(draft, 'output')];
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
  for (const path of [draft, password]) await giveTo(account, path);
  const access = ['--username=postgres', `--pwfile=${password}`, '--auth=scram-sha-256'];
  const args = [`--pgdata=${made}`, ...ENCODING, ...access, '--no-instructions'];
  const initdb = await spawnProgram(join(programs, 'initdb'), args, account, output, lock);
  const [code] = (await once(initdb, 'exit')) as [number | null];
  if (code !== 0) {
    const lines = (await readFile(output, 'utf8')).trim().split('\n').slice(-5);
    throw new EmbeddedPostgresError(`initdb failed with code ${String(code)}:\n${lines.join('\n')}`);
  }
  await rename(password, join(made, PASSWORD_FILE));
  await flush(made);
  await rename(made, data);
  await flush(folder);
  await rm(draft, { recursive: true });
}

export async function giveTo({ uid, gid }: Account, path: string): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
}

/** A rename lasts only when its folder is on the disk. */
async function flush(folder: string): Promise<void> {
  await using handle = await open(folder);
  await handle.sync();
}
