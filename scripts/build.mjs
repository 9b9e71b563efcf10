// Builds dist/: CommonJS, which every test runner can load, below thin ES modules (*.mjs). With --quick it makes only what a start
// needs: it checks no types and writes no declarations.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { recordBuild } from './sources.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const isQuick = process.argv.includes('--quick');
const PRISMA = 'node_modules/prisma/build/index.js';
if (!existsSync(PRISMA) || !existsSync('node_modules/typescript')) {
  // With NODE_ENV=production npm leaves them out.
  console.error('plant-store: the build needs packages that are not installed: run "npm ci --include=dev"');
  process.exit(1);
}
rmSync('dist', { recursive: true, force: true });
const generate = spawn(process.execPath, [PRISMA, 'generate']);
const generated = Promise.all([text(generate.stdout), text(generate.stderr), once(generate, 'close')]);
const { default: ts } = await import('typescript');
const [stdout, stderr, [status]] = await generated;
if (status !== 0) {
  console.error(stdout, stderr);
  process.exit(1);
}
await import('./generate-migrations.mjs');

const { config } = ts.readConfigFile('tsconfig.build.json', ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
// Each file by itself, as the tests compile it (isolatedModules): no types are read but those of src.
const quick = { noCheck: true, noResolve: true, noLib: true, types: [], declaration: false };
const program = ts.createProgram(fileNames, isQuick ? { ...options, ...quick } : options);
program.emit();
const faults = isQuick ? program.getSyntacticDiagnostics() : ts.getPreEmitDiagnostics(program);
if (faults.length > 0) {
  console.error(
    ts.formatDiagnostics(faults, { ...ts.sys, getCanonicalFileName: (name) => name, getNewLine: () => '\n' }),
  );
  process.exit(1);
}

// Node takes the kind of a .js file from the next package.json above it.
cpSync('src/package.json', 'dist/package.json');
// Prisma's generator writes import() for files that are CommonJS; Jest has none without a flag of Node's.
const client = 'dist/database/generated/internal/class.js';
writeFileSync(client, readFileSync(client, 'utf8').replaceAll('await import(', 'require('));

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
recordBuild(isQuick ? 'quick' : 'whole');
