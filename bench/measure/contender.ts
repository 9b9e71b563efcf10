import type { BenchmarkDatabase } from '../database/benchmark-database.js';
import type { LoadGenerator, LoadResult, LoadRun } from '../load/load.js';
import type { Pgbench } from '../load/pgbench.js';
import { ACCESS_TOKEN, TargetServer } from '../server/target-server.js';
import type { DatabaseTarget, ServerTarget } from '../targets/target.js';
import { ProcessTree } from './process-tree.js';

/** A target that runs and can be measured, on a database of its own. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly database: BenchmarkDatabase;
  readonly storesPlants: boolean;
  /** The server's; pgbench has none. */
  readonly processes?: ProcessTree;
  /** Fails unless it creates a plant. */
  check(id: number): Promise<void>;
  load(run: LoadRun): Promise<LoadResult>;
}

export async function startServerContender(
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
    load: (run) => generator.run({ ...run, url: server.url, token: ACCESS_TOKEN }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export function databaseContender(target: DatabaseTarget, database: BenchmarkDatabase, pgbench: Pgbench): Contender {
  return {
    name: target.name,
    database,
    storesPlants: true,
    check: () => Promise.resolve(),
    load: (run) => pgbench.run(database.url, run),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
