import type { BenchmarkDatabase } from '../database/benchmark-database.js';
import type { BenchmarkPostgres } from '../database/benchmark-postgres.js';
import type { TargetServer } from '../server/target-server.js';
import type { Target } from '../targets/target.js';
import { alternate } from './alternate.js';
import type { Contender } from './contender.js';
import type { Measurement } from './measurement.js';
import type { MeasuringTime } from './measuring-time.js';
import { startContender } from './start-contender.js';

export interface TargetsOptions extends MeasuringTime {
  readonly targets: readonly Target[];
  readonly connections: readonly number[];
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/** Measures all targets together, at every number of connections. Servers are started anew for each number: so the memory is that of this number. */
export async function measureTargets(
  databases: ReadonlyMap<string, BenchmarkDatabase>,
  options: TargetsOptions,
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const connections of options.connections) {
    measurements.push(...(await measureAt(connections, databases, options)));
  }
  return measurements;
}

async function measureAt(
  connections: number,
  databases: ReadonlyMap<string, BenchmarkDatabase>,
  options: TargetsOptions,
): Promise<Measurement[]> {
  const { targets, log } = options;
  const contenders: Contender[] = [];
  const servers = new Map<string, TargetServer>();
  const measurements = new Map<string, Measurement>();
  try {
    for (const target of targets) {
      options.signal.throwIfAborted();
      const measurement: Measurement = {
        target: target.name,
        title: target.title,
        node: target.kind === 'server' && !target.program ? process.version.slice(1) : undefined,
        connections,
        rounds: [],
        faults: [],
      };
      measurements.set(target.name, measurement);
      try {
        const database = databases.get(target.name);
        if (database) contenders.push(await startContender(target, database, servers));
      } catch (error) {
        measurement.faults.push((error as Error).message);
        log(`  ${(error as Error).message}`);
      }
    }
    for (const { database } of contenders) await database.empty();
    log(`  ${connections} connections, ${contenders.length} targets, ${options.rounds} rounds`);
    await alternate(contenders, {
      ...options,
      connections,
      onRound: ({ name }, outcome) => {
        const measurement = measurements.get(name);
        if (outcome instanceof Error) {
          measurement?.faults.push(outcome.message);
          log(`  ${name}: ${outcome.message}`);
        } else measurement?.rounds.push(outcome);
      },
    });
  } finally {
    await Promise.all(contenders.map((contender) => contender[Symbol.asyncDispose]()));
  }
  return [...measurements.values()];
}

/** A database for each target that has a process of its own. */
export async function createDatabases(
  postgres: BenchmarkPostgres,
  targets: readonly Target[],
  build: string,
): Promise<Map<string, BenchmarkDatabase>> {
  const databases = new Map<string, BenchmarkDatabase>();
  for (const target of targets) {
    const host = target.kind === 'server' && target.runsIn !== undefined ? databases.get(target.runsIn) : undefined;
    databases.set(target.name, host ?? (await postgres.createDatabase(target.name, target.build ?? build)));
  }
  return databases;
}
