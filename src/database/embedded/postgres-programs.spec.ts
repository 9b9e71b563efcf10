import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type PostgresPackage, findPostgresPackage } from './postgres-package.js';
import { PostgresPrograms } from './postgres-programs.js';
import { ServerUser } from './server-user.js';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const itAsRoot = isRoot ? it : it.skip;

describe(PostgresPrograms.name, () => {
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
    const list = await readFile(join(original.programs, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    const links = (JSON.parse(list) as { target: string }[]).map(({ target }) => join(original.programs, '..', target));
    await cp(original.programs, programs, { recursive: true, filter: (path) => !links.includes(path) });
    for (const program of await readdir(join(programs, 'bin'))) await chmod(join(programs, 'bin', program), 0o644);
    source = { name: 'test', programs };
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  const version = async (programs: PostgresPrograms) =>
    (await run(programs.initdb, ['--version'], { ...user.ids, cwd: '/' })).stdout;

  it('should do what the install script did not, in several processes at once', async () => {
    const prepared = await Promise.all([1, 2, 3].map(() => PostgresPrograms.prepare(source, user, directory)));

    expect(prepared.map(({ folder }) => folder)).toEqual(Array(3).fill(source.programs));
    for (const programs of prepared) expect(await version(programs)).toMatch(/^initdb \(PostgreSQL\)/);
  });

  itAsRoot('should make one whole copy where the user can run it, if only root can enter the package', async () => {
    await chmod(join(directory, 'package'), 0o700);
    const shared = join(directory, 'shared');
    await mkdir(shared);
    const prepare = () => PostgresPrograms.prepare(source, user, directory, toAsync([shared]));
    const prepared = await Promise.all([1, 2, 3].map(prepare));

    expect(await readdir(shared)).toEqual(['postgres-test']);
    for (const programs of prepared) expect(await version(programs)).toMatch(/^initdb \(PostgreSQL\)/);
    // A loss of power can leave a file under its name without its bytes.
    const file = 'share/postgresql/postgres.bki';
    await writeFile(join(shared, 'postgres-test', file), '');
    await prepare();
    expect((await stat(join(shared, 'postgres-test', file))).size).toBe((await stat(join(source.programs, file))).size);
    expect(await readdir(shared)).toEqual(['postgres-test']);
  });

  it('should say what is in the way when the programs do not run', async () => {
    await writeFile(join(source.programs, 'bin/postgres'), '#!/bin/sh\necho no such luck >&2; exit 1\n');

    await expect(PostgresPrograms.prepare(source, user, directory, toAsync([]))).rejects.toThrow(
      /does not run on this system: .*no such luck.*DATABASE_URL/,
    );
  });
});

async function* toAsync(folders: string[]): AsyncGenerator<string> {
  yield* await Promise.resolve(folders);
}
