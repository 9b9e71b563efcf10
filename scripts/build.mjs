// Builds dist/ for a start or a test, if it is no build of these sources. It checks no types and writes no declarations: `npm run build`
// and `npm run check` do.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const GENERATED = 'src/prisma/generated';
const SOURCES = [
  'src',
  'prisma/schema.prisma',
  'prisma.config.ts',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];
/** The sources that dist/ was built of. Every build removes dist/, and this with it. */
const RECORD = 'dist/.sources';

/** Contents and not times, which a copy or a checkout may set to anything. */
function addTo(hash, path) {
  if (path === GENERATED || path.endsWith('.spec.ts')) return;
  if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) addTo(hash, `${path}/${name}`);
  else hash.update(`\0${path}\0`).update(readFileSync(path));
}

function run(program, ...args) {
  const { status } = spawnSync(process.execPath, [`node_modules/${program}`, ...args], { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

const hash = createHash('sha256');
for (const path of SOURCES) addTo(hash, path);
const sources = hash.digest('hex');
if (!existsSync(GENERATED) || !existsSync(RECORD) || readFileSync(RECORD, 'utf8') !== sources) {
  // With NODE_ENV=production npm leaves them out.
  if (!existsSync('node_modules/typescript') || !existsSync('node_modules/prisma')) {
    console.error('plant-store: the build needs packages that are not installed: run "npm ci --include=dev"');
    process.exit(1);
  }
  // Standard output is for what a command prints.
  console.error('Building …');
  rmSync('dist', { recursive: true, force: true });
  if (!existsSync(GENERATED)) run('prisma/build/index.js', 'generate');
  run('typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck', '--declaration', 'false');
  writeFileSync(RECORD, sources);
}
