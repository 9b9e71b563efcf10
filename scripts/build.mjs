// Builds dist/: CommonJS, which every test runner can load, below thin ES modules (*.mjs).
// --quick: only what a start needs; it checks no types and writes no declarations.
// --if-changed: only if dist/ is no build of just these sources.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const isQuick = process.argv.includes('--quick');
const PRISMA = 'node_modules/prisma/build/index.js';
const GENERATED = 'src/prisma/generated';
const CONFIGURATION = ['prisma.config.ts', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
const SOURCES = ['src', 'prisma', 'scripts/build.mjs', ...CONFIGURATION];
/** Says what was built, and of which sources. Every build removes dist/, and this with it. */
const RECORD = 'dist/.sources';

if (process.argv.includes('--if-changed')) {
  if (isBuilt()) process.exit();
  // Standard output is for what a command prints.
  console.error('Building …');
}
// With NODE_ENV=production npm leaves them out.
if (!existsSync(PRISMA) || !existsSync('node_modules/typescript'))
  fail('plant-store: the build needs packages that are not installed: run "npm ci --include=dev"');
rmSync('dist', { recursive: true, force: true });
const prisma = spawnSync(process.execPath, [PRISMA, 'generate'], { encoding: 'utf8' });
if (prisma.status !== 0) fail(prisma.stdout + prisma.stderr);
writeMigrations();

const { default: ts } = await import('typescript');
const { config } = ts.readConfigFile('tsconfig.build.json', ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
// Each file by itself, as the tests compile it (isolatedModules): no types are read but those of src.
const quick = { noCheck: true, noResolve: true, noLib: true, types: [], declaration: false };
const program = ts.createProgram(fileNames, isQuick ? { ...options, ...quick } : options);
program.emit();
const faults = isQuick ? program.getSyntacticDiagnostics() : ts.getPreEmitDiagnostics(program);
const host = { ...ts.sys, getCanonicalFileName: (name) => name, getNewLine: () => '\n' };
if (faults.length > 0) fail(ts.formatDiagnostics(faults, host));

// Node takes the kind of a .js file from the next package.json above it.
cpSync('src/package.json', 'dist/package.json');
// Prisma's generator writes import() for files that are CommonJS; Jest has none without a flag of Node's.
const client = 'dist/prisma/generated/internal/class.js';
writeFileSync(client, readFileSync(client, 'utf8').replaceAll('await import(', 'require('));

// Nest 12 is ES modules alone. Under `module: node16` a CommonJS declaration may import their types only if it says so.
const NEST_IMPORT = /^import (?:type )?(\{[^}]*\}) from ('@nestjs\/[^']+');$/gm;
const asTypes = (_, names, specifier) =>
  `import type ${names.replace(/\btype /g, '')} from ${specifier} with { 'resolution-mode': 'import' };`;
for (const file of readdirSync('dist', { recursive: true }).filter((name) => name.endsWith('.d.ts')))
  writeFileSync(`dist/${file}`, readFileSync(`dist/${file}`, 'utf8').replace(NEST_IMPORT, asTypes));

removeUnreached();

// For --version: the commit of a checkout, with "-dirty" if files differ from it. An image is built without the history, and given it.
const git = existsSync('.git') && spawnSync('git', ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']);
writeFileSync('dist/commit', git.status === 0 ? git.stdout : (process.env.COMMIT ?? ''));
writeFileSync(RECORD, `${isQuick ? 'quick' : 'whole'} ${fingerprint()}`);

/** A whole build is also enough where a quick one is. */
function isBuilt() {
  if (!existsSync(GENERATED) || !existsSync(RECORD)) return false;
  const [kind, sources] = readFileSync(RECORD, 'utf8').split(' ');
  return (isQuick || kind === 'whole') && sources === fingerprint();
}

/** Contents and not times, which a copy or a checkout may set to anything. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const path of SOURCES.flatMap(filesIn)) hash.update(`\0${path}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

function filesIn(path) {
  if (path === GENERATED || path.endsWith('.spec.ts')) return [];
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).sort();
  return names.flatMap((name) => filesIn(`${path}/${name}`));
}

/** Writes the list of prisma/migrations as code, so that nothing of them is read from a disk at run time and a bundled host has it. */
function writeMigrations() {
  const names = readdirSync('prisma/migrations').filter((name) =>
    existsSync(`prisma/migrations/${name}/migration.sql`),
  );
  const migrations = names.sort().map((name) => {
    // As it is in the repository, with any line ends of a checkout.
    const sql = readFileSync(`prisma/migrations/${name}/migration.sql`, 'utf8').replaceAll('\r\n', '\n');
    return { name, checksum: createHash('sha256').update(sql).digest('hex'), sql };
  });
  const code = `export const MIGRATIONS = ${JSON.stringify(migrations, null, 2)};\n`;
  writeFileSync(`${GENERATED}/migrations.ts`, `// Made of prisma/migrations by scripts/build.mjs.\n${code}`);
}

/** Removes the declarations that no export needs, and the files that only declare types. */
function removeUnreached() {
  const reached = new Set();
  const reach = (file) => {
    if (reached.has(file) || !existsSync(file)) return;
    reached.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from |(?:import|require)\()['"](\.[^'"]+)['"]/g))
      reach(join(dirname(file), file.endsWith('ts') ? path.replace(/\.([cm]?)js$/, '.d.$1ts') : path));
  };
  for (const name of ['main.js', 'index.js', 'index.mjs', 'index.d.ts', 'index.d.mts']) reach(join('dist', name));
  const built = readdirSync('dist', { recursive: true }).map((name) => join('dist', name));
  for (const file of built) if (/\.[cm]?[jt]s$/.test(file) && !reached.has(file)) rmSync(file);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
