import type { BenchmarkDatabase } from '../database/benchmark-database.js';
import { TargetServer } from '../server/target-server.js';
import type { ServerTarget, Target } from '../targets/target.js';
import { median } from './median.js';

export interface StartTime {
  readonly target: string;
  readonly title: string;
  /** Milliseconds from the start of the process until it accepts a connection; undefined if it does not start. */
  readonly milliseconds: number | undefined;
}

/** Those that carry a framework and an ORM about. */
const STARTED = /^(?:plant-store(?:-\d+)?|nest-prisma)$/;
const STARTS = 5;

/** Starts each server several times, in turn. */
export async function measureStarts(
  targets: readonly Target[],
  databases: ReadonlyMap<string, BenchmarkDatabase>,
  signal: AbortSignal,
): Promise<StartTime[]> {
  const servers = targets.filter((target) => target.kind === 'server').filter(({ name }) => STARTED.test(name));
  const times = new Map<string, (number | undefined)[]>(servers.map(({ name }) => [name, []]));
  for (let start = 0; start < STARTS; start++) {
    for (const target of servers) {
      signal.throwIfAborted();
      times.get(target.name)?.push(await startTime(target, databases.get(target.name)?.url ?? ''));
    }
  }
  return servers.map(({ name, title }) => ({ target: name, title, milliseconds: median(times.get(name) ?? []) }));
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
