import { startCpuClock } from './cpu.js';
import type { BenchmarkPostgres } from './database.js';
import { HttpLoad, type LoadResult } from './load.js';
import { query } from './postgres.js';
import { median } from './report.js';
import { type Target, TargetServer } from './targets.js';

/** How long one target has a turn. */
const TURN_SECONDS = 0.15;
/** Of the warm-up. V8 compiles in steps, between which the price stays the same for seconds. */
const MIN_CREATES = 20_000;
/** The price has settled if the last twenty turns have that of the twenty before, but for five per cent. */
const GROUP = 20;
const TOLERANCE = 0.05;
/** Of what the target has shown that it can do. */
const OPEN_LOOP_SHARE = 0.5;

/** What one target did in one turn. CPU times are microseconds for a create. */
export interface Round {
  readonly createsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly loadCpu: number;
  readonly serverCpu: number;
  readonly databaseCpu: number;
}

/** All rounds of one target at one number of connections. */
export interface Measurement {
  readonly target: Target;
  readonly rounds: Round[];
  /** Milliseconds, those of all rounds. */
  readonly latencies: number[];
  readonly openLoopLatencies: number[];
  readonly isSettled: boolean;
}

export interface MeasureOptions {
  readonly connections: number;
  readonly rounds: number;
  /** The warm-up has no more rounds, settled or not. */
  readonly maxWarmUp: number;
  readonly postgres: BenchmarkPostgres;
  /** Ends the measuring between two turns. What was measured until then counts. */
  readonly signal: AbortSignal;
}

/** A target that runs, and its load. */
interface Contender extends Measurement {
  readonly databaseUrl: string;
  readonly server: TargetServer;
  readonly load: HttpLoad;
  isSettled: boolean;
  warmUpCreates: number;
  /** What a create cost in each turn of the warm-up. */
  readonly prices: number[];
}

type Turn = Round & LoadResult;

/**
 * Measures all targets, which run at the same time, in turns of a random order: a machine that is busy for a while is
 * so for each of them. Each is started anew, with an empty table.
 */
export async function measureTogether(targets: readonly Target[], options: MeasureOptions): Promise<Measurement[]> {
  const { rounds, postgres, signal } = options;
  const contenders: Contender[] = [];
  try {
    for (const target of targets) {
      if (!signal.aborted) contenders.push(await startContender(target, postgres));
    }
    await warmUp(contenders, options);
    for (const contender of turns(contenders, rounds, signal)) {
      const { latencies, ...round } = await takeTurn(contender, options, (load) => load.runFor(TURN_SECONDS));
      contender.rounds.push(round);
      contender.latencies.push(...latencies);
    }
    for (const contender of turns(contenders, rounds, signal)) {
      const rate = OPEN_LOOP_SHARE * median(contender.rounds.map(({ createsPerSecond }) => createsPerSecond));
      const { latencies } = await takeTurn(contender, options, (load) => load.runAt(rate, TURN_SECONDS));
      contender.openLoopLatencies.push(...latencies);
    }
  } catch (error) {
    // Ctrl-C also ends what the terminal knows to be ours, as a migration.
    if (!signal.aborted) throw error;
  } finally {
    for (const { load } of contenders) load.close();
    await Promise.all(contenders.map(({ server }) => server.stop()));
  }
  return contenders;
}

async function startContender(target: Target, postgres: BenchmarkPostgres): Promise<Contender> {
  const databaseUrl = await postgres.createDatabase(target.build);
  const server = await TargetServer.start(target, databaseUrl);
  const load = new HttpLoad(server.port);
  const measured = { rounds: [], latencies: [], openLoopLatencies: [] };
  return { ...measured, target, databaseUrl, server, load, isSettled: false, warmUpCreates: 0, prices: [] };
}

/**
 * Until a create of each costs what it did before. In turns, as what follows: a server that is warmed alone, without a
 * pause, has a lower price then than in the turns afterwards.
 */
async function warmUp(contenders: Contender[], options: MeasureOptions): Promise<void> {
  for (const contender of turns(contenders, options.maxWarmUp, options.signal)) {
    const turn = await takeTurn(contender, options, (load) => load.runFor(TURN_SECONDS));
    contender.warmUpCreates += turn.latencies.length;
    contender.prices.push(Number.isNaN(turn.serverCpu) ? 1e6 / turn.createsPerSecond : turn.serverCpu);
    contender.isSettled ||= contender.warmUpCreates >= MIN_CREATES && haveSettled(contender.prices);
    if (contenders.every(({ isSettled }) => isSettled)) break;
  }
  if (options.signal.aborted) return;
  for (const { target, isSettled, warmUpCreates, prices } of contenders) {
    const price = median(prices.slice(-GROUP)).toFixed(0);
    const outcome = isSettled ? 'warm' : 'NOT settled';
    console.error(`    ${target.title}, ${target.runtime}: ${outcome} after ${warmUpCreates} creates, ${price} µs`);
  }
}

function haveSettled(prices: readonly number[]): boolean {
  const [before, now] = [median(prices.slice(-2 * GROUP, -GROUP)), median(prices.slice(-GROUP))];
  return prices.length >= 2 * GROUP && Math.abs(now / before - 1) < TOLERANCE;
}

/** As many rounds, unless they are interrupted; in each every contender has one turn. */
function* turns(contenders: Contender[], rounds: number, signal: AbortSignal): Generator<Contender> {
  for (let round = 0; round < rounds; round++) {
    for (const contender of shuffled(contenders)) {
      if (signal.aborted) return;
      yield contender;
    }
  }
}

/** @throws Error if anything was answered but a create, or a plant that was answered is not stored */
async function takeTurn(
  { target, databaseUrl, server, load }: Contender,
  { connections, postgres }: MeasureOptions,
  run: (load: HttpLoad) => Promise<LoadResult>,
): Promise<Turn> {
  await load.open(connections);
  const clocks = [server.pid, postgres.pid].map(startCpuClock);
  const ownCpu = process.cpuUsage();
  const result = await run(load).catch((cause: unknown) => {
    throw new Error(`${target.title} failed under load`, { cause });
  });
  const creates = result.latencies.length;
  const [serverCpu = NaN, databaseCpu = NaN] = clocks.map((clock) => clock() / creates);
  const { user, system } = process.cpuUsage(ownCpu);
  const count = 'SELECT count(*)::integer AS stored FROM plants WHERE id >= $1';
  const [{ stored } = {}] = await query(databaseUrl, count, [result.firstId]);
  if (stored !== creates) throw new Error(`${target.title} has stored ${String(stored)} of ${creates} plants`);
  const createsPerSecond = creates / result.seconds;
  return {
    ...result,
    createsPerSecond,
    p50: median(result.latencies),
    loadCpu: (user + system) / creates,
    serverCpu,
    databaseCpu,
  };
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
