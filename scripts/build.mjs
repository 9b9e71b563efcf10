// Builds dist/ for a start or a test, if it is no build of these sources. It compiles each file by itself, as the tests do, and checks no
// types: `npm run build` does, and has its build noted here with --done.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const GENERATED = 'src/prisma/generated';
/** The sources that dist/ was built of. Nest removes dist/ before it builds, and this with it. */
const RECORD = 'dist/.sources';

function filesIn(path) {
  if (path === GENERATED || path.endsWith('.spec.ts')) return [];
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).sort();
  return names.flatMap((name) => filesIn(`${path}/${name}`));
}

/** Contents and not times, which a copy or a checkout may set to anything. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const path of ['src', 'prisma/schema.prisma', 'jest.config.mjs', 'package-lock.json'].flatMap(filesIn))
    hash.update(`\0${path}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

export function isBuilt() {
  return existsSync(GENERATED) && existsSync(RECORD) && readFileSync(RECORD, 'utf8') === fingerprint();
}

async function build() {
  // With NODE_ENV=production npm leaves them out.
  if (!existsSync('node_modules/@swc/core') || !existsSync('node_modules/prisma')) {
    console.error('plant-store: the build needs packages that are not installed: run "npm ci --include=dev"');
    process.exit(1);
  }
  // Standard output is for what a command prints.
  console.error('Building …');
  const prisma = spawnSync(process.execPath, ['node_modules/prisma/build/index.js', 'generate'], {
    stdio: [0, 'pipe', 2],
  });
  if (prisma.status !== 0) process.exit(1);
  const { transformFileSync } = await import('@swc/core');
  const { swc } = await import('../jest.config.mjs');
  const generated = readdirSync(GENERATED, { recursive: true }).map((name) => `${GENERATED}/${name}`);
  for (const file of [...filesIn('src'), ...generated].filter((name) => name.endsWith('.ts'))) {
    const target = file.replace(/^src/, 'dist').replace(/ts$/, 'js');
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, transformFileSync(file, { ...swc, sourceMaps: false, swcrc: false }).code);
  }
  writeFileSync(RECORD, fingerprint());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--done')) writeFileSync(RECORD, fingerprint());
  // A service may run from dist/, so no file of it is removed.
  else if (!isBuilt()) await build();
}
