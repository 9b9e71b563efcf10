import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../root.js';

/** Where Debian has the sources of Go's packages. */
const PACKAGES = '/usr/share/gocode';
const FOLDER = join(ROOT, 'bench/dist/go');
const MISSING = 'Go or pgx is not installed (on Debian: apt-get install golang-go golang-github-jackc-pgx-v4-dev)';

/** Builds the peer that is written in Go. Fails if that is not possible here. */
export async function goProgram(): Promise<string> {
  if (!existsSync(join(PACKAGES, 'src/github.com/jackc/pgx/v4'))) throw new Error(MISSING);
  const program = join(FOLDER, 'go-pgx');
  const { PATH } = process.env;
  await promisify(execFile)('go', ['build', '-o', program, join(ROOT, 'bench/targets/peers/go-pgx.go')], {
    env: { PATH, GO111MODULE: 'off', GOPATH: PACKAGES, GOCACHE: join(FOLDER, 'cache') },
  }).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Error(MISSING) : error;
  });
  return program;
}
