import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

describe('prune.mjs', () => {
  const OTHER_BUILDS = [
    ...['class-transformer', 'class-validator'].flatMap((name) =>
      ['bundles', 'esm2015', 'esm5'].map((build) => `${name}/${build}/index.js`),
    ),
    'libphonenumber-js/bundle/index.js',
    ...['dist/bundles', 'dist/esm', 'dist/esm5', 'src'].map((build) => `rxjs/${build}/index.js`),
    'swagger-ui-dist/swagger-ui-es-bundle.js',
    'swagger-ui-dist/swagger-ui-es-bundle-core.js',
  ].map((file) => `node_modules/${file}`);

  const KEPT = {
    'dist/main.js': '',
    'dist/database/generated/client.js': 'import "@prisma/client/runtime/used.js"',
    'node_modules/@prisma/client/package.json': '{ "exports": { "./*": "./*" } }',
    'node_modules/@prisma/client/runtime/used.js': '',
    'node_modules/any/index.js': '',
    'node_modules/any/LICENSE.md': '',
  };

  const REMOVED = [
    'dist/main.d.ts',
    'node_modules/@prisma/client/runtime/unused.js',
    ...['README.md', 'index.d.ts', 'index.js.map', 'index.spec.js', 'isLicensePlate.d.ts'].map(
      (file) => `node_modules/any/${file}`,
    ),
  ];

  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'container-prune-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function put(file: string, text = '') {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }

  function prune() {
    cpSync(new URL('../../deploy/docker/prune.mjs', import.meta.url), join(folder, 'deploy/docker/prune.mjs'));
    for (const [file, text] of Object.entries(KEPT)) put(file, text);
    for (const file of REMOVED) put(file);
    return spawnSync(process.execPath, [join(folder, 'deploy/docker/prune.mjs')], { encoding: 'utf8' });
  }

  it('should leave what Node loads, and licences', () => {
    for (const file of OTHER_BUILDS) put(file);

    expect(prune()).toMatchObject({ status: 0, stderr: '' });

    const left = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
    expect(left.sort()).toEqual(['deploy/docker/prune.mjs', ...Object.keys(KEPT)].sort());
  });

  it('should fail when what it would remove is not there', () => {
    const { status, stderr } = prune();

    expect(status).toBe(1);
    expect(stderr).toContain('ENOENT');
  });
});
