// Builds, unless dist/ is a build of just these sources.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Every build removes dist/, and this with it. */
const RECORD = join(root, 'dist/.sources');
const GENERATED = 'src/database/generated';
const SOURCES = [
  'src',
  'prisma',
  'prisma.config.ts',
  'package-lock.json',
  'scripts/build.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** @param kind `quick` if a build of only what a start needs is enough, else `whole` */
export function ensureBuild(kind) {
  const isBuilt = existsSync(join(root, GENERATED)) && existsSync(RECORD);
  const [made, sources] = isBuilt ? readFileSync(RECORD, 'utf8').split(' ') : [];
  if ([kind, 'whole'].includes(made) && sources === fingerprint()) return;
  // Standard output is for what a command prints.
  console.error('Building …');
  // In a process of its own: the compiler takes memory that a service does not get back.
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/build.mjs'), kind], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

export function recordBuild(kind) {
  writeFileSync(RECORD, `${kind} ${fingerprint()}`);
}

/** Contents and not times, which a copy or a checkout may set to anything. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const path of SOURCES.flatMap(filesIn)) hash.update(`\0${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}

function filesIn(path) {
  if (path === GENERATED || path.endsWith('.spec.ts')) return [];
  if (!statSync(join(root, path)).isDirectory()) return [path];
  const names = readdirSync(join(root, path)).sort();
  return names.flatMap((name) => filesIn(`${path}/${name}`));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensureBuild('whole');
