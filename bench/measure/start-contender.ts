import type { BenchmarkDatabase } from '../database/benchmark-database.js';
import { HttpLoad } from '../load/http-load.js';
import { Pgbench } from '../load/pgbench.js';
import { ACCESS_TOKEN, TargetServer } from '../server/target-server.js';
import type { DatabaseTarget, ServerTarget, Target } from '../targets/target.js';
import type { Contender } from './contender.js';
import { ProcessTree } from './process-tree.js';

/**
 * Fails if the target does not start here.
 *
 * @param servers by the names of their targets; its own is added
 */
export async function startContender(
  target: Target,
  database: BenchmarkDatabase,
  servers = new Map<string, TargetServer>(),
): Promise<Contender> {
  if (target.kind === 'server') {
    if (target.runsIn !== undefined) return guestContender(target, servers.get(target.runsIn), database);
    const server = await TargetServer.start(target, database.url);
    servers.set(target.name, server);
    return serverContender(target, server, database, server.token);
  }
  const pgbench = await Pgbench.find();
  if (!pgbench) throw new Error('pgbench is not installed (on Debian: apt-get install postgresql-contrib)');
  return databaseContender(target, database, pgbench);
}

/** In the process of another contender, which ends it. */
function guestContender(
  target: ServerTarget,
  server: TargetServer | undefined,
  database: BenchmarkDatabase,
): Contender {
  if (!server) throw new Error(`${target.name} runs in the process of ${target.runsIn ?? ''}, which did not start`);
  return serverContender(target, server, database, ACCESS_TOKEN);
}

function serverContender(
  target: ServerTarget,
  server: TargetServer,
  database: BenchmarkDatabase,
  token: string,
): Contender {
  const load = new HttpLoad(server.port, token, database.ids);
  return {
    name: target.name,
    database,
    storesPlants: target.storesPlants,
    processes: new ProcessTree(server.pid),
    connect: (connections) => load.connect(connections),
    load: (run) =>
      load.run(run).catch((error: unknown) => {
        server.assertRunning();
        throw error;
      }),
    [Symbol.asyncDispose]: async () => {
      load.close();
      if (target.runsIn === undefined) await server[Symbol.asyncDispose]();
    },
  };
}

function databaseContender(target: DatabaseTarget, database: BenchmarkDatabase, pgbench: Pgbench): Contender {
  return {
    name: target.name,
    database,
    storesPlants: true,
    connect: () => Promise.resolve(),
    load: (run) => pgbench.run(database.url, run),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
