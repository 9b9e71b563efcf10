// Writes src/database/migrations.ts: the list of prisma/migrations as code, so that a bundled host has them and nothing
// is read from a disk.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const fileOf = (name) => `prisma/migrations/${name}/migration.sql`;
const names = readdirSync('prisma/migrations').filter((name) => existsSync(fileOf(name)));
const migrations = names.sort().map((name) => {
  // As it is in the repository, with any line ends of a checkout.
  const sql = readFileSync(fileOf(name), 'utf8').replaceAll('\r\n', '\n');
  const checksum = createHash('sha256').update(sql).digest('hex');
  // A template literal, so that the lines of the SQL are lines of the code.
  const escaped = sql.replace(/[\\`]|\$\{/g, '\\$&');
  return `{ name: '${name}', checksum: '${checksum}', sql: \`${escaped}\` }`;
});
const head = '// Made of prisma/migrations: npm run prisma:list';
const file = 'src/database/migrations.ts';
const code = `${head}\nexport const MIGRATIONS = [${migrations.join()}];\n`;
writeFileSync(file, await format(code, { ...(await resolveConfig(file)), filepath: file }));
