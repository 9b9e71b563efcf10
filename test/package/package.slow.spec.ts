import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { brokenLinks } from '../support/documents/links.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

describe('The package', () => {
  let folder: string;
  let tarball: string;
  let files: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-package-'));
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
    tarball = join(folder, (await readdir(folder))[0] ?? '');
    await run('tar', ['-xzf', tarball, '-C', folder]);
    const entries = await readdir(join(folder, 'package'), { recursive: true, withFileTypes: true });
    files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, 'package/').length));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('should hold the build and what its users read, and nothing else', async () => {
    const others = files.filter((file) => !file.startsWith('dist/'));
    const read = /^(?:docs\/[\w-]+\.(?:md|svg|png)|deploy\/(?!docker).+|prisma\/migrations\/.+|examples\/client\.ts)$/;
    expect(others.filter((file) => !read.test(file)).sort()).toEqual([
      '.env.example',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'openapi.json',
      'package.json',
    ]);
    expect(files.filter((file) => /\.spec\.|node_modules/.test(file))).toEqual([]);
    expect((await stat(tarball)).size).toBeLessThan(400_000);
  });

  it('should have what its pages link to, but for decisions, the monorepo and what contributors read', () => {
    const pages = files.filter((file) => file.endsWith('.md'));
    const broken = pages.flatMap((page) => brokenLinks(join(folder, 'package'), page));
    expect(pages.length).toBeGreaterThan(10);
    expect(broken.filter((link) => !/adr\/|monorepo|CONTRIBUTING|bench\//.test(link))).toEqual([]);
  });

  it('should satisfy publint', async () => {
    const { messages } = await publint({
      pack: { tarball: new Uint8Array(await readFile(tarball)).buffer },
      strict: true,
    });
    expect(messages).toEqual([]);
  });

  it('should have types that are right in every resolution', async () => {
    const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    await run(process.execPath, [attw, tarball, '--profile', 'strict']);
  });
});
