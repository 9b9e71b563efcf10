import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The benchmark is called from the folder of the package, by `npm run`. */
const ROOT = process.cwd();
/** Where Debian has the sources of Go's packages. */
const GO_PACKAGES = '/usr/share/gocode';
const GO_FOLDER = join(ROOT, 'bench/dist/go');
const GO_MISSING = 'Go or pgx is not installed (on Debian: apt-get install golang-go golang-github-jackc-pgx-v4-dev)';
const OTHER_BUILD = /^plant-store-\d+$/;

/** A server that creates plants, or that only answers. */
export interface ServerTarget {
  readonly kind: 'server';
  /** By which `--targets` chooses it. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** The program, if it is not the Node.js that runs the benchmark. */
  readonly program?: () => Promise<string>;
  /** What the program runs. It listens on `PORT` of 127.0.0.1, and accepts `ACCESS_TOKEN`. */
  readonly command: readonly string[];
  /** Whose `migrate` makes its tables; the one that is measured first unless given. */
  readonly build?: string;
  /** Not the echo. */
  readonly storesPlants: boolean;
}

/** PostgreSQL on its own, called by pgbench. */
export interface DatabaseTarget {
  readonly kind: 'database';
  readonly name: string;
  readonly title: string;
  readonly build?: never;
}

export type Target = ServerTarget | DatabaseTarget;

/** Services that do the same as the store, as they are usually written. */
const PEERS: readonly ServerTarget[] = [
  scriptTarget('fastify-postgres', 'Fastify + postgres.js'),
  scriptTarget('fastify-pg', 'Fastify + pg'),
  scriptTarget('express-pg', 'Express + pg'),
  scriptTarget('nest-prisma', 'Nest + Prisma, as documented'),
  { kind: 'server', name: 'go-pgx', title: 'Go, net/http + pgx', program: goProgram, command: [], storesPlants: true },
];

/**
 * Everything that can be measured, in the order of the report.
 *
 * @param builds folders with a build of the store; the first is the one that others are compared with
 */
export function allTargets([build = '', ...others]: readonly string[]): Target[] {
  return [
    storeTarget('plant-store', 'plant store', build),
    ...others.map((other, index) => storeTarget(`plant-store-${index + 2}`, `plant store, ${nameOf(other)}`, other)),
    ...PEERS,
    { ...scriptTarget('echo', 'echo, bare node:http'), storesPlants: false },
    { kind: 'database', name: 'pgbench', title: 'pgbench, one insert a commit' },
  ];
}

/** Those with the names given, in their own order; "plant-store" means all of its builds. */
export function chosenTargets(names: readonly string[], all: readonly Target[]): Target[] {
  const known = all.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new RangeError(`There is no target ${unknown.join(', ')}. There are ${known.join(', ')}.`);
  }
  return all.filter(({ name }) => names.includes(name) || (OTHER_BUILD.test(name) && names.includes('plant-store')));
}

/** The store as the image runs a build of it. */
function storeTarget(name: string, title: string, build: string): ServerTarget {
  const command = ['--heap-growing-percent=60', join(resolve(build), 'main.js'), 'serve'];
  return { kind: 'server', name, title, command, build, storesPlants: true };
}

/** A server that is a script of this benchmark's own, in `peers/`. */
function scriptTarget(name: string, title: string): ServerTarget {
  const command = [join(ROOT, `bench/dist/bench/peers/${name}.js`)];
  return { kind: 'server', name, title, command, storesPlants: true };
}

/** A build is usually called "dist": what tells two apart is the folder around it. */
function nameOf(build: string): string {
  return basename(build) === 'dist' ? basename(dirname(resolve(build))) : basename(build);
}

/** Builds the peer that is written in Go. Fails if that is not possible here. */
async function goProgram(): Promise<string> {
  if (!existsSync(join(GO_PACKAGES, 'src/github.com/jackc/pgx/v4'))) throw new Error(GO_MISSING);
  const program = join(GO_FOLDER, 'go-pgx');
  const { PATH } = process.env;
  await promisify(execFile)('go', ['build', '-o', program, join(ROOT, 'bench/peers/go-pgx.go')], {
    env: { PATH, GO111MODULE: 'off', GOPATH: GO_PACKAGES, GOCACHE: join(GO_FOLDER, 'cache') },
  }).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Error(GO_MISSING) : error;
  });
  return program;
}
