// Packs the client alone, as plant-store-client, into the current folder, as `npm pack` does.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './ensure-build.mjs';

/** With the catalogue of errors, which the client imports: dist/esm has a copy of its own. */
const FILES = [
  'LICENSE',
  'dist/client',
  'dist/errors/error-catalogue.js',
  'dist/errors/error-catalogue.d.ts',
  'dist/esm',
];

const root = fileURLToPath(new URL('..', import.meta.url));
const { version, license, repository, engines, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const manifest = {
  name: 'plant-store-client',
  version,
  description:
    'The typed client of a plant store, for Node.js and browsers: exact ids, safe repetitions, no dependencies.',
  license,
  repository,
  type: 'commonjs',
  sideEffects: false,
  engines,
  main: './dist/client/index.js',
  types: './dist/client/index.d.ts',
  exports: { '.': exports['./client'], './package.json': './package.json' },
  files: ['dist'],
  publishConfig: { access: 'public', provenance: true },
};

const folder = mkdtempSync(join(tmpdir(), 'plant-store-client-'));
try {
  for (const path of FILES) cpSync(join(root, path), join(folder, path), { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(folder, 'README.md'), readme());
  const { status } = spawnSync('npm', ['pack', '--ignore-scripts', '--pack-destination', process.cwd()], {
    cwd: folder,
    stdio: 'inherit',
    // npm is a script there.
    shell: process.platform === 'win32',
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}

/** The page of the documentation from its first example on, by the name of this package and without links to other pages. */
function readme() {
  const page = readFileSync(join(root, 'docs/client.md'), 'utf8');
  const start = page.indexOf('## Create a plant');
  if (start < 0) throw new Error('docs/client.md has no section "Create a plant" any more, where the README begins.');
  const text = page
    .slice(start)
    .replaceAll('plant-store/client', manifest.name)
    .replace(/\[([^\]]+)\]\((?!https:)[^)]+\)/g, '$1');
  return `# ${manifest.name}\n\n${manifest.description}\n\n    npm install ${manifest.name}\n\n${text}`;
}
