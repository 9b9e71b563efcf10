// Provides the secrets of a deployment as files in folders that its services share: what the operator gives and, for
// the database passwords, else what is there already, else a new one. The second folder is only for those who
// migrate.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, ownerFolder] = process.argv.slice(2);
const SECRETS = {
  DATABASE_PASSWORD: join(folder, 'database-password'),
  MIGRATION_DATABASE_PASSWORD: join(ownerFolder, 'database-password'),
  ACCESS_TOKENS: join(folder, 'access-tokens'),
};

const faults = [];
const given = Object.entries(SECRETS).map(([variable, file]) => [variable, file, readGiven(variable)]);
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
for (const [variable, file, secret] of given) {
  console.log(`${variable}: ${secret === undefined ? provide(variable, file) : write(file, secret, 'as given')}`);
}

function provide(variable, file) {
  if (variable !== 'ACCESS_TOKENS')
    return existsSync(file) ? `kept as it is in ${file}` : write(file, randomBytes(32).toString('base64url'), 'made');
  // Those that were given before must not stay valid.
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
    // A byte order mark is no part of the secret.
    const content = readFileSync(path, 'utf8')
      .replace(/^\uFEFF/, '')
      .trimEnd();
    if (content === '') faults.push(`${variable}_FILE: is empty, should be a file that holds the secret`);
    return content;
  } catch ({ code }) {
    faults.push(`${variable}_FILE: cannot be read (${code}), should be a file that user ${process.getuid()} may read`);
    return undefined;
  }
}

/** Whole or not at all, and on the disk: the database is about to be made with it. */
function write(file, secret, how) {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  // The database server reads its passwords too: it is another user, but of this group.
  const mode = file === SECRETS.ACCESS_TOKENS ? 0o400 : 0o440;
  writeFileSync(unfinished, `${secret}\n`, { mode, flush: true });
  renameSync(unfinished, file);
  return `${how}, in ${file}`;
}
