// Removes from an installed application what Node never loads there. Runs once, while the image is built.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
// dist/ is CommonJS.
const require = createRequire(import.meta.url);

/** For compilers, debuggers, readers and packages' own tests; but licences stay. */
const UNLOADED = /\.(map|ts|mts|cts|md|spec\.[cm]?js)$/i;
const LICENCE = /^(licen[cs]e|notice|copying)/i;

/** What packages have for browsers, bundlers and experiments, in addition to the build that Node takes. */
const OTHER_BUILDS = {
  'class-transformer': ['bundles', 'esm2015', 'esm5'],
  'class-validator': ['bundles', 'esm2015', 'esm5'],
  'libphonenumber-js': ['bundle'],
  rxjs: ['dist/bundles', 'dist/esm', 'dist/esm5', 'src'],
  'swagger-ui-dist': ['swagger-ui-es-bundle.js', 'swagger-ui-es-bundle-core.js'],
};

const PRISMA_RUNTIME = 'node_modules/@prisma/client/runtime';
const PRISMA_IMPORT = /@prisma\/client\/runtime\/[\w.-]+/g;

function filesIn(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
}

/** Prisma's runtime holds a query compiler for every database in four forms: what the client imports is one of them. */
function unusedPrismaRuntime() {
  const specifiers = filesIn('dist/database/generated')
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => readFileSync(file, 'utf8').match(PRISMA_IMPORT) ?? []);
  if (specifiers.length === 0) throw new Error('dist/database/generated imports nothing of @prisma/client/runtime');
  const used = new Set(specifiers.map((specifier) => require.resolve(specifier)));
  return filesIn(PRISMA_RUNTIME).filter((file) => !used.has(file));
}

function otherBuilds() {
  return Object.entries(OTHER_BUILDS).flatMap(([name, paths]) =>
    paths.map((path) => join(root, 'node_modules', name, path)),
  );
}

function unloadedFiles() {
  return filesIn('node_modules', 'dist').filter((file) => UNLOADED.test(file) && !LICENCE.test(basename(file)));
}

// Not forced: a path that is gone fails the build, so that the list above stays true.
for (const path of [...unusedPrismaRuntime(), ...otherBuilds()]) rmSync(path, { recursive: true });
for (const file of unloadedFiles()) rmSync(file);
