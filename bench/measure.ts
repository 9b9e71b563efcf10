import { readdirSync, readFileSync } from 'node:fs';
import { type BenchmarkPostgres, countPlantsFrom } from './database.js';
import { HttpLoad } from './load.js';
import { type Target, TargetServer } from './targets.js';

/** How long one target has a turn. */
const TURN_SECONDS = 0.15;
/** A server that has just been started compiles its code under its first load: 3 s of it are not counted. */
const WARM_UP_ROUNDS = 20;

/** What one target did in one turn. */
export interface Round {
  readonly createsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds for a create. */
  readonly serverCpu: number;
  readonly databaseCpu: number;
}

/** All rounds of one target at one number of connections. */
export interface Measurement {
  readonly title: string;
  readonly connections: number;
  readonly rounds: Round[];
}

export interface MeasureOptions {
  readonly connections: number;
  readonly rounds: number;
  readonly postgres: BenchmarkPostgres;
  readonly signal: AbortSignal;
}

/** A target that runs, and its load. */
interface Contender extends Measurement {
  readonly databaseUrl: string;
  readonly server: TargetServer;
  readonly load: HttpLoad;
}

/**
 * Measures all targets, which run at the same time, in turns of a random order: a machine that is busy for a while is so for each of
 * them. Each is started anew, with an empty table.
 */
export async function measureTogether(targets: readonly Target[], options: MeasureOptions): Promise<Measurement[]> {
  const { connections, rounds, postgres, signal } = options;
  const contenders: Contender[] = [];
  try {
    for (const target of targets) {
      signal.throwIfAborted();
      const databaseUrl = await postgres.createDatabase(target.build);
      const server = await TargetServer.start(target, databaseUrl);
      const load = new HttpLoad(server.port);
      contenders.push({ title: target.title, connections, rounds: [], databaseUrl, server, load });
    }
    for (const { load } of contenders) await load.open(connections);
    for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
      for (const contender of shuffled(contenders)) {
        signal.throwIfAborted();
        const measured = await measureTurn(contender, postgres.pid);
        if (round >= 0) contender.rounds.push(measured);
      }
    }
  } finally {
    for (const { load } of contenders) load.close();
    await Promise.all(contenders.map(({ server }) => server.stop()));
  }
  return contenders;
}

/** @throws Error if anything was answered but a create, or a plant that was answered is not stored */
async function measureTurn({ title, databaseUrl, server, load }: Contender, databasePid: number): Promise<Round> {
  const [serverClock, databaseClock] = [startCpuClock(server.pid), startCpuClock(databasePid)];
  const { firstId, creates, seconds, p50, p99 } = await load.run(TURN_SECONDS).catch((cause: unknown) => {
    throw new Error(`${title} failed under load`, { cause });
  });
  const [serverCpu, databaseCpu] = [serverClock() / creates, databaseClock() / creates];
  const stored = await countPlantsFrom(databaseUrl, firstId);
  if (stored !== creates) throw new Error(`${title} has stored ${stored} of ${creates} plants`);
  return { createsPerSecond: creates / seconds, p50, p99, serverCpu, databaseCpu };
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

/**
 * Returns a function that says how many microseconds of CPU time a process and its descendants have used since this call; what has
 * ended in between is left out. The scheduler counts exactly, the usual counters in hundredths of a second. NaN where there is no /proc.
 */
function startCpuClock(pid: number): () => number {
  const before = timesOfThreads(pid);
  return () => {
    const nanoseconds = Array.from(timesOfThreads(pid), ([thread, time]) => time - (before.get(thread) ?? 0));
    return before.size === 0 ? NaN : nanoseconds.reduce((sum, time) => sum + time, 0) / 1000;
  };
}

function timesOfThreads(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  const members = [String(pid)];
  for (const member of members) {
    const folder = `/proc/${member}/task`;
    try {
      for (const thread of readdirSync(folder)) {
        times.set(`${folder}/${thread}`, parseInt(readFileSync(`${folder}/${thread}/schedstat`, 'utf8'), 10));
        members.push(...(readFileSync(`${folder}/${thread}/children`, 'utf8').match(/\d+/g) ?? []));
      }
    } catch {
      // It has just ended.
    }
  }
  return times;
}
