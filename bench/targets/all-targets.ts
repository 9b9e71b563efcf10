import { basename, dirname, join, resolve } from 'node:path';
import { goProgram } from './go-program.js';
import { scriptTarget, type ServerTarget, type Target } from './target.js';

const SAMPLE_A_TENTH = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' };

export interface TargetOptions {
  /** Folders with a build of the store; the first is the one that others are compared with. */
  readonly builds: readonly string[];
}

/** Everything that can be measured, in the order of the report. */
export function allTargets({ builds }: TargetOptions): Target[] {
  const [build = '', ...others] = builds;
  return [
    storeTarget('plant-store', 'plant store', build),
    ...others.map((other, index) => storeTarget(`plant-store-${index + 2}`, `plant store, ${nameOf(other)}`, other)),
    { ...storeTarget('plant-store-issued-token', 'plant store, with an issued token', build), issuesToken: true },
    // In one process: two of them differ by more than what is measured.
    {
      ...storeTarget('plant-store-static-token', 'the same process, with a static token', build),
      runsIn: 'plant-store-issued-token',
    },
    ...OBSERVED.map(({ name, title, ...observed }) => ({
      ...storeTarget(`plant-store-${name}`, `plant store, ${title}`, build),
      ...observed,
      onlyByName: true,
    })),
    ...PEERS,
    { ...scriptTarget('echo', 'echo, bare node:http', 'peers/echo.js'), storesPlants: false },
    { kind: 'database', name: 'pgbench', title: 'pgbench, one insert a commit' },
  ];
}

/** What is seen of the requests; metrics are counted in each of them. */
const OBSERVED = [
  { name: 'log-off', title: 'LOG_REQUESTS=off', variables: { LOG_REQUESTS: 'off' } },
  { name: 'log-all', title: 'LOG_REQUESTS=all', variables: { LOG_REQUESTS: 'all' } },
  { name: 'traced', title: 'every request traced', isTraced: true },
  { name: 'traced-tenth', title: 'a tenth of the requests traced', isTraced: true, variables: SAMPLE_A_TENTH },
];

/** Services that do the same as the store, as they are usually written. */
const PEERS: readonly ServerTarget[] = [
  scriptTarget('fastify-postgres', 'Fastify + postgres.js', 'peers/fastify-postgres.js'),
  scriptTarget('fastify-pg', 'Fastify + pg', 'peers/fastify-pg.js'),
  scriptTarget('express-pg', 'Express + pg', 'peers/express-pg.js'),
  scriptTarget('nest-prisma', 'Nest + Prisma, as documented', 'peers/nest-prisma/main.js'),
  { kind: 'server', name: 'go-pgx', title: 'Go, net/http + pgx', program: goProgram, command: [], storesPlants: true },
];

/** The store as the image runs a build of it. */
export function storeTarget(name: string, title: string, build: string): ServerTarget {
  const command = ['--heap-growing-percent=60', join(resolve(build), 'main.js'), 'serve'];
  return { kind: 'server', name, title, command, build, storesPlants: true };
}

/** A build is usually called "dist": what tells two apart is the folder around it. */
function nameOf(build: string): string {
  return basename(build) === 'dist' ? basename(dirname(resolve(build))) : basename(build);
}
