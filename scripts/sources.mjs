// What dist/ was made from.
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
  'scripts/generate-migrations.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
];

export function recordBuild(kind) {
  writeFileSync(RECORD, `${kind} ${fingerprint()}`);
}

/** Whether dist/ is what a build of one of these kinds has made of just these sources, and what it has generated in src/ is there. */
export function isBuilt(...kinds) {
  if (!existsSync(join(root, GENERATED)) || !existsSync(RECORD)) return false;
  const [kind, sources] = readFileSync(RECORD, 'utf8').split(' ');
  return kinds.includes(kind) && sources === fingerprint();
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
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesIn(`${path}/${name}`));
}
