// Writes the list of prisma/migrations as code, so that nothing of them is read from a disk at run time and a bundled host has it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const FOLDER = new URL('../prisma/migrations/', import.meta.url);
const LIST = new URL('../src/database/generated/migrations.ts', import.meta.url);

const names = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const migrations = names
  .map(({ name }) => name)
  .sort()
  .map((name) => {
    // As it is in the repository, with any line ends of a checkout.
    const sql = readFileSync(new URL(`${name}/migration.sql`, FOLDER), 'utf8').replaceAll('\r\n', '\n');
    return { name, checksum: createHash('sha256').update(sql).digest('hex'), sql };
  });

const head = '// Made of prisma/migrations by scripts/generate-migrations.mjs.\n';
writeFileSync(LIST, `${head}export const MIGRATIONS = ${JSON.stringify(migrations, null, 2)};\n`);
