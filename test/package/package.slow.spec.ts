import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';

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

  it('should hold the build and what an operator installs, in few files, and nothing else', async () => {
    const others = files.filter((file) => !file.startsWith('dist/'));
    expect(others.filter((file) => !file.startsWith('deploy/systemd/')).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    expect(files.filter((file) => /\.spec\.|node_modules/.test(file))).toEqual([]);
    expect(files.length).toBeLessThanOrEqual(120);
    expect((await stat(tarball)).size).toBeLessThan(200_000);
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
