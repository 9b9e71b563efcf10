import type { BenchmarkDatabase } from '../database/benchmark-database.js';
import type { LoadGenerator } from '../load/load.js';
import { Pgbench } from '../load/pgbench.js';
import { TargetServer } from '../server/target-server.js';
import type { DatabaseTarget, ServerTarget, Target } from '../targets/target.js';
import type { Contender } from './contender.js';
import { ProcessTree } from './process-tree.js';

/** Fails where the target does not start here. */
export async function startContender(
  target: Target,
  database: BenchmarkDatabase,
  generator: LoadGenerator,
): Promise<Contender> {
  if (target.kind === 'server') return startServerContender(target, database, generator);
  const pgbench = await Pgbench.find();
  if (!pgbench) throw new Error('pgbench is not installed (on Debian: apt-get install postgresql-contrib)');
  return databaseContender(target, database, pgbench);
}

async function startServerContender(
  target: ServerTarget,
  database: BenchmarkDatabase,
  generator: LoadGenerator,
): Promise<Contender> {
  const server = await TargetServer.start(target, database.url);
  return {
    name: target.name,
    database,
    storesPlants: target.storesPlants,
    processes: new ProcessTree(server.pid),
    check: (id) => server.check(id),
    load: (run) => generator.run({ ...run, url: server.url, token: server.token }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function databaseContender(target: DatabaseTarget, database: BenchmarkDatabase, pgbench: Pgbench): Contender {
  return {
    name: target.name,
    database,
    storesPlants: true,
    check: () => Promise.resolve(),
    load: (run) => pgbench.run(database.url, run),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
