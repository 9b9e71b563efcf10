import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where Debian has the sources of Go's packages. */
const GO_PACKAGES = '/usr/share/gocode';
const GO_MISSING = 'Go is left out: on Debian, apt-get install golang-go golang-github-jackc-pgx-v4-dev';

/** A server that creates plants. It listens on `PORT` of 127.0.0.1, and accepts the token in `ACCESS_TOKENS`. */
export interface Target {
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The build of the store whose `migrate` makes its tables. */
  readonly build: string;
}

/** The store as the image runs it. @param build the folder of a build */
export function storeTarget(title: string, build: string): Target {
  const args = ['--heap-growing-percent=60', join(build, 'main.js'), 'serve'];
  return { title, program: process.execPath, args, build };
}

/** Services that do the same as the store, as they are usually written. The one in Go is left out if there is no Go here. */
export async function buildPeers(): Promise<Target[]> {
  const peers = [
    scriptTarget('Fastify + postgres.js', 'fastify', 'postgres.js'),
    scriptTarget('Fastify + pg', 'fastify', 'pg'),
    scriptTarget('Nest + Prisma, as documented', 'nest-prisma'),
  ];
  if (existsSync(join(GO_PACKAGES, 'src/github.com/jackc/pgx/v4'))) {
    peers.push({ title: 'Go, net/http + pgx', program: await buildGoPeer(), args: [], build: 'dist' });
  } else {
    console.error(`  ${GO_MISSING}`);
  }
  return peers;
}

/** A script of `peers/`, as it is compiled. All paths are those of the package, in whose folder npm calls the benchmark. */
function scriptTarget(title: string, name: string, ...args: string[]): Target {
  return { title, program: process.execPath, args: [`bench/dist/bench/peers/${name}.js`, ...args], build: 'dist' };
}

async function buildGoPeer(): Promise<string> {
  const program = 'bench/dist/go-pgx';
  await promisify(execFile)('go', ['build', '-o', program, 'bench/peers/go-pgx.go'], {
    env: { ...process.env, GO111MODULE: 'off', GOPATH: GO_PACKAGES },
  });
  return program;
}
