import { setTimeout } from 'node:timers/promises';
import type { BenchmarkDatabase } from './database.js';
import { median, type Measurement, type Round } from './figures.js';
import { firstIdOfRun, HttpLoad, type LoadResult, type LoadRun } from './load.js';
import type { MeasuringTime } from './options.js';
import { Pgbench } from './pgbench.js';
import { ProcessTree } from './process-tree.js';
import { ACCESS_TOKEN, TargetServer } from './target-server.js';
import type { ServerTarget, Target } from './targets.js';

/** What a server does behind its last answer belongs to it. */
const AFTER_MS = 5;
/** Those that carry a framework and an ORM about. */
const STARTED = /^(?:plant-store(?:-\d+)?|nest-prisma)$/;
const STARTS = 5;

/** A target with a database of its own. */
export type Entry = readonly [target: Target, database: BenchmarkDatabase];

export interface StartTime {
  readonly target: string;
  readonly title: string;
  /** Milliseconds from the start of the process until it accepts a connection; undefined if it does not start. */
  readonly milliseconds: number | undefined;
}

export interface MeasureOptions extends MeasuringTime {
  readonly connections: readonly number[];
  readonly signal: AbortSignal;
}

/** A target that runs and can be measured. */
interface Contender extends AsyncDisposable {
  readonly database: BenchmarkDatabase;
  readonly storesPlants: boolean;
  /** The server's; pgbench has none. */
  readonly processes?: ProcessTree;
  /** Opens that many connections, so that the next load need not. */
  connect(connections: number): Promise<void>;
  load(run: LoadRun): Promise<LoadResult>;
}

/** Starts each server several times, in turn. */
export async function measureStarts(entries: readonly Entry[], signal: AbortSignal): Promise<StartTime[]> {
  const servers = entries.filter(([{ name }]) => STARTED.test(name)) as [ServerTarget, BenchmarkDatabase][];
  const times = new Map<string, (number | undefined)[]>(servers.map(([{ name }]) => [name, []]));
  for (let start = 0; start < STARTS; start++) {
    for (const [target, database] of servers) {
      signal.throwIfAborted();
      times.get(target.name)?.push(await startTime(target, database.url));
    }
  }
  return servers.map(([{ name, title }]) => ({ target: name, title, milliseconds: median(times.get(name) ?? []) }));
}

async function startTime(target: ServerTarget, databaseUrl: string): Promise<number | undefined> {
  try {
    await using server = await TargetServer.start(target, databaseUrl);
    return server.startTime;
  } catch {
    // Reported if it was to be measured.
    return undefined;
  }
}

/** Measures all targets together, at every number of connections. Servers are started anew for each number: so the memory is that of this number. */
export async function measureTargets(entries: readonly Entry[], options: MeasureOptions): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const connections of options.connections) measurements.push(...(await measureAt(connections, entries, options)));
  return measurements;
}

async function measureAt(
  connections: number,
  entries: readonly Entry[],
  options: MeasureOptions,
): Promise<Measurement[]> {
  const contenders = new Map<Contender, Measurement>();
  const measurements: Measurement[] = [];
  try {
    for (const [target, database] of entries) {
      options.signal.throwIfAborted();
      const node = target.kind === 'server' && !target.program ? process.version.slice(1) : undefined;
      const { name, title } = target;
      const measurement: Measurement = { target: name, title, node, connections, rounds: [], faults: [] };
      measurements.push(measurement);
      try {
        contenders.set(await startContender(target, database), measurement);
      } catch (error) {
        reportFault(measurement, error);
      }
    }
    for (const { database } of contenders.keys()) await database.empty();
    console.error(`  ${connections} connections, ${contenders.size} targets, ${options.rounds} rounds`);
    await alternate(contenders, connections, options);
  } finally {
    await Promise.all([...contenders.keys()].map((contender) => contender[Symbol.asyncDispose]()));
  }
  return measurements;
}

function reportFault({ target, faults }: Measurement, error: unknown): void {
  const { message } = error as Error;
  faults.push(message);
  console.error(`  ${target}: ${message}`);
}

/** Fails if the target does not start here. */
async function startContender(target: Target, database: BenchmarkDatabase): Promise<Contender> {
  if (target.kind === 'database') {
    const pgbench = await Pgbench.find();
    if (!pgbench) throw new Error('pgbench is not installed (on Debian: apt-get install postgresql-contrib)');
    return {
      database,
      storesPlants: true,
      connect: () => Promise.resolve(),
      load: (run) => pgbench.run(database.url, run),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const server = await TargetServer.start(target, database.url);
  const load = new HttpLoad(server.port, ACCESS_TOKEN);
  return {
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
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * Measures all contenders, which run at the same time, in turns of a random order: a machine that is busy for a while is so for each of
 * them. A contender that fails takes no further turn.
 */
async function alternate(
  contenders: ReadonlyMap<Contender, Measurement>,
  connections: number,
  { rounds, seconds, warmUpSeconds, signal }: MeasureOptions,
): Promise<void> {
  const running = new Map(contenders);
  const attempt = async (contender: Contender, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      const measurement = running.get(contender);
      running.delete(contender);
      if (measurement) reportFault(measurement, error);
    }
  };
  // A server that has just been started compiles its code under its first load.
  for (const contender of contenders.keys()) {
    const warmUp = { connections, seconds: warmUpSeconds, signal, firstId: firstIdOfRun() };
    await attempt(contender, () => contender.load(warmUp));
  }
  for (let round = 0; round < rounds; round++) {
    for (const [contender, measurement] of shuffled(running)) {
      const run = { connections, seconds, signal, firstId: firstIdOfRun() };
      await attempt(contender, async () => measurement.rounds.push(await measureRound(contender, run)));
    }
  }
}

/** Fails if anything was answered but a create, or a plant that was answered is not stored. */
async function measureRound(contender: Contender, run: LoadRun): Promise<Round> {
  const { database, processes, storesPlants } = contender;
  await contender.connect(run.connections);
  const before = await database.progress(run.firstId);
  const cpuBefore = [processes?.cpuTime(), database.processes.cpuTime()];
  const { creates, seconds, p50, p99 } = await contender.load(run);
  await setTimeout(AFTER_MS);
  const cpuAfter = [processes?.cpuTime(), database.processes.cpuTime()];
  const after = await database.progress(run.firstId);

  if (creates === 0) throw new Error('nothing was created');
  const stored = after.plants - before.plants;
  if (storesPlants && stored < creates) throw new Error(`of ${creates} plants ${stored} are stored`);
  const [serverCpu, databaseCpu] = cpuAfter.map((time, of) => time && (time - (cpuBefore[of] ?? 0)) / creates);
  return {
    createsPerSecond: creates / seconds,
    p50,
    p99,
    serverCpu,
    peakMemory: processes?.peakMemory(),
    ...(storesPlants && { databaseCpu, plantsPerCommit: stored / (after.commits - before.commits) }),
  };
}

function shuffled<T>(items: Iterable<T>): T[] {
  const keyed = Array.from(items, (item) => ({ item, key: Math.random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
