import { availableParallelism } from 'node:os';
import type { Contender } from './contender.js';
import { type CpuTimes, difference, readCpuTimes } from './cpu-times.js';
import { IDS_OF_A_PREFIX, nextIdPrefix } from './id-prefix.js';
import { InvalidRoundError } from './invalid-round.error.js';
import type { MeasuringTime } from './measuring-time.js';
import type { Round } from './round.js';

export interface RoundOptions extends Omit<MeasuringTime, 'rounds'> {
  readonly connections: number;
  readonly signal: AbortSignal;
}

/**
 * Warms a contender up, and measures what it then does.
 *
 * @throws InvalidRoundError where anything was answered but a create, or a plant that was answered is not stored
 */
export async function measureRound(contender: Contender, options: RoundOptions): Promise<Round> {
  const { connections, seconds, warmUpSeconds, signal } = options;
  const { database, processes, storesPlants } = contender;
  await contender.check(nextIdPrefix() * IDS_OF_A_PREFIX);
  await contender.load({ connections, seconds: warmUpSeconds, idPrefix: nextIdPrefix(), signal });

  const idPrefix = nextIdPrefix();
  const before = await database.progress();
  const timesBefore = readCpuTimes(contender);
  const result = await contender.load({ connections, seconds, idPrefix, signal });
  const cpu = difference(readCpuTimes(contender), timesBefore);
  const after = await database.progress();

  const { creates, seconds: taken, p50, p99, failures } = result;
  if (failures > 0) throw new InvalidRoundError(`${failures} requests were not answered with 200`);
  if (creates === 0) throw new InvalidRoundError('nothing was created');
  const stored = !storesPlants
    ? 0
    : database.ids === 'random'
      ? after.plants - before.plants
      : await database.countFrom(idPrefix);
  if (storesPlants && stored < creates) throw new InvalidRoundError(`of ${creates} plants ${stored} are stored`);
  return {
    createsPerSecond: creates / taken,
    p50,
    p99,
    serverCpu: cpu.server && (cpu.server / creates) * 1000,
    databaseCpu: storesPlants ? cpu.database && (cpu.database / creates) * 1000 : undefined,
    plantsPerCommit: storesPlants ? (after.plants - before.plants) / (after.commits - before.commits) : undefined,
    walBytes: storesPlants ? (after.walBytes - before.walBytes) / creates : undefined,
    peakMemory: processes?.peakMemory(),
    generatorLoad: cpu.generator && cpu.generator / taken,
    otherLoad: otherLoad(cpu, taken),
  };
}

function otherLoad(
  { server = 0, database = 0, generator = 0, machine }: CpuTimes,
  seconds: number,
): number | undefined {
  return machine && Math.max(0, machine - server - database - generator) / seconds / availableParallelism();
}
