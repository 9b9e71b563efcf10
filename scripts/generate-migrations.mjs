// Writes the list of prisma/migrations as code, so that nothing of them is read from a disk at run time and a bundled host has it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const FOLDER = new URL('../prisma/migrations/', import.meta.url);
const LIST = new URL('../src/database/generated/migrations.ts', import.meta.url);
/** A column that is there once the migration is applied, which shows whether an interrupted one was. */
const MAKES = /CREATE TABLE "(\w+)" \(\s*"(\w+)"|ALTER TABLE "(\w+)" ADD COLUMN\s+"(\w+)"/g;

const names = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const migrations = names
  .map(({ name }) => name)
  .sort()
  .map((name) => {
    // As it is in the repository, with any line ends of a checkout.
    const sql = readFileSync(new URL(`${name}/migration.sql`, FOLDER), 'utf8').replaceAll('\r\n', '\n');
    const made = [...sql.matchAll(MAKES)].at(-1);
    if (made === undefined) throw new Error(`${name} makes no column that shows whether it was applied`);
    const [table, column] = [made[1] ?? made[3], made[2] ?? made[4]];
    return { name, checksum: createHash('sha256').update(sql).digest('hex'), makes: { table, column }, sql };
  });

const head = '// Made of prisma/migrations by scripts/generate-migrations.mjs.\n';
writeFileSync(LIST, `${head}export const MIGRATIONS = ${JSON.stringify(migrations, null, 2)};\n`);
