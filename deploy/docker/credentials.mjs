// Provides the secrets of a deployment as files in folders that its services share: what the operator gives and, for the
// database passwords, else what is there already, else a new one. The second folder is only for those who migrate.
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, ownerFolder] = process.argv.slice(2);

const SECRETS = [
  // The database server reads it too: it is another user, but of this group.
  { variable: 'DATABASE_PASSWORD', file: join(folder, 'database-password'), mode: 0o440, provide: keepOrMake },
  {
    variable: 'MIGRATION_DATABASE_PASSWORD',
    file: join(ownerFolder, 'database-password'),
    mode: 0o440,
    provide: keepOrMake,
  },
  // Those that were given before must not stay valid.
  { variable: 'ACCESS_TOKENS', file: join(folder, 'access-tokens'), mode: 0o400, provide: remove },
];

const faults = [];
const given = new Map(SECRETS.map(({ variable }) => [variable, readGiven(variable)]));
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
for (const { variable, file, mode, provide } of SECRETS) {
  const own = given.get(variable);
  if (own !== undefined) write(file, own, mode);
  console.log(`${variable}: ${own === undefined ? provide(file, mode) : `as given, in ${file}`}`);
}

function keepOrMake(file, mode) {
  if (statSync(file, { throwIfNoEntry: false })?.size) return `kept as it is in ${file}`;
  write(file, randomBytes(32).toString('base64url'), mode);
  return `made, in ${file}`;
}

function remove(file) {
  rmSync(file, { force: true });
  return 'none';
}

function readGiven(variable) {
  const text = process.env[variable] || undefined;
  const path = process.env[`${variable}_FILE`];
  if (!path) return text;
  if (text !== undefined) {
    faults.push(`${variable}: is set, and so is ${variable}_FILE: should be one of the two`);
    return undefined;
  }
  try {
    const content = readFileSync(path, 'utf8').trimEnd();
    if (content === '') faults.push(`${variable}_FILE: is empty, should be a file that holds the secret`);
    return content;
  } catch ({ code }) {
    faults.push(`${variable}_FILE: cannot be read (${code}), should be a file that user ${process.getuid()} may read`);
    return undefined;
  }
}

/** Whole or not at all, and on the disk: the database is about to be made with it. */
function write(file, secret, mode) {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, `${secret}\n`, { mode, flush: true });
  renameSync(unfinished, file);
}
