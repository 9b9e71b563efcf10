import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Account, EmbeddedPostgresError, failureAs } from './binaries.js';
import { dataDirectoryIn, tailOf, type PostgresInstance, spawnProgram } from './server.js';

/** The folder of root for data that the user of the server could not reach elsewhere. */
const SHARED_FOLDER = '/var/lib/plant-store';
/** The password is in the data directory, so both are made together. */
const PASSWORD_FILE = 'plant-store.password';
// PostgreSQL has this encoding and order itself, so the system needs no locale.
const ENCODING = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

/** Chooses the folder and the user of the server: root needs the shared folder if nobody else can enter `directory`. */
export async function chooseDataFolder(directory: string): Promise<Pick<PostgresInstance, 'folder' | 'account'>> {
  const folder = await realpath(directory);
  const account = await serverAccount();
  if (account.uid === undefined) return { folder, account };
  const shared = join(SHARED_FOLDER, createHash('sha256').update(folder).digest('hex').slice(0, 12));
  // Existing data decide, because an empty store elsewhere would look like a loss.
  for (const home of [folder, shared]) {
    const owner = await stat(dataDirectoryIn(home)).catch(() => undefined);
    if (owner) return { folder: home, account: { uid: owner.uid, gid: owner.gid } };
  }
  // The mode of a folder does not show ACLs and mounts, so this is tried.
  const failure = await failureAs(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', folder]);
  if (failure === undefined) return { folder, account };
  await mkdir(shared, { recursive: true });
  // This holds with any umask.
  for (const each of [SHARED_FOLDER, shared]) await chmod(each, 0o711);
  return { folder: shared, account };
}

/** PostgreSQL refuses to run as root, so root uses an existing user. Without one, initdb explains that. */
export async function serverAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  const users = await readFile('/etc/passwd', 'utf8');
  const found = ['postgres', 'nobody'].map((name) => new RegExp(`^${name}:[^:]*:(-?\\d+):(-?\\d+):`, 'm').exec(users));
  const [, uid, gid] = found.find((match) => match !== null) ?? [];
  return uid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

/** Makes the data directory at the first start. Returns the password of the user `postgres`. */
export async function prepareData(instance: PostgresInstance): Promise<string> {
  const data = dataDirectoryIn(instance.folder);
  if (!existsSync(data)) await initializeData(instance);
  return readFile(join(data, PASSWORD_FILE), 'utf8').catch((cause: unknown) => {
    const found = `${data} is no data directory of the plant store that this user can read: it has no file ${PASSWORD_FILE}.`;
    const advice = 'Start as its owner or as root, move it away, or set DATABASE_URL.';
    throw new EmbeddedPostgresError(`${found} ${advice}`, { cause });
  });
}

/** The directory gets its name when it is complete, so an interrupted start leaves no half of one. */
async function initializeData(instance: PostgresInstance): Promise<void> {
  const draft = join(instance.folder, 'postgres-draft');
  const [made, password, output] = [join(draft, 'data'), join(draft, 'password'), join(draft, 'output')];
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
  for (const path of [draft, password]) await giveTo(instance.account, path);
  const access = ['--username=postgres', `--pwfile=${password}`, '--auth=scram-sha-256'];
  const initdb = await spawnProgram(instance, 'initdb', [`--pgdata=${made}`, ...ENCODING, ...access], output);
  const [code] = (await once(initdb, 'exit')) as [number | null];
  if (code !== 0) throw new EmbeddedPostgresError(`initdb failed with code ${String(code)}:\n${await tailOf(output)}`);
  await rename(password, join(made, PASSWORD_FILE));
  await flush(made);
  await rename(made, dataDirectoryIn(instance.folder));
  await flush(instance.folder);
  await rm(draft, { recursive: true });
}

export async function giveTo({ uid, gid }: Account, path: string): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
}

/** A rename survives a crash only after its folder was written to disk. */
async function flush(folder: string): Promise<void> {
  await using handle = await open(folder);
  await handle.sync();
}
