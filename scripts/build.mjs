// Builds dist/: CommonJS, which every test runner can load, below thin ES modules (*.mjs).
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
rmSync('dist', { recursive: true, force: true });
const compiler = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'];
const { status } = spawnSync(process.execPath, compiler, { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
// Node takes the kind of a .js file from the next package.json above it.
cpSync('src/package.json', 'dist/package.json');
// Prisma's generator writes import() for files that are CommonJS; Jest has none without a flag of Node's.
const generated = 'dist/database/generated/internal/class.js';
writeFileSync(generated, readFileSync(generated, 'utf8').replaceAll('await import(', 'require('));

// Nest 12 is ES modules alone. Under `module: node16` a CommonJS declaration may import their types only if it says so.
const NEST_IMPORT = /^import (?:type )?(\{[^}]*\}) from ('@nestjs\/[^']+');$/gm;
for (const file of readdirSync('dist', { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
  const declarations = readFileSync(`dist/${file}`, 'utf8');
  const asTypes = (_, names, specifier) =>
    `import type ${names.replace(/\btype /g, '')} from ${specifier} with { 'resolution-mode': 'import' };`;
  writeFileSync(`dist/${file}`, declarations.replace(NEST_IMPORT, asTypes));
}

// For --version: the commit of a checkout, with "-dirty" if files differ from it. An image is built without the history, and given it.
const git = existsSync('.git') && spawnSync('git', ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']);
writeFileSync('dist/commit', git.status === 0 ? git.stdout : (process.env.COMMIT ?? ''));
