import type { Contender } from './contender.js';
import { IDS_OF_A_PREFIX, nextIdPrefix } from './id-prefix.js';
import { InvalidRoundError } from './invalid-round.error.js';
import { ProcessTree } from './process-tree.js';
import type { Round } from './round.js';

export interface RoundOptions {
  readonly connections: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
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
  const [serverBefore, databaseBefore] = [processes?.cpuSeconds(), database.processes.cpuSeconds()];
  const generatorBefore = generatorCpu();
  const {
    creates,
    seconds: taken,
    p50,
    p99,
    failures,
  } = await contender.load({ connections, seconds, idPrefix, signal });
  const generatorAfter = generatorCpu();
  const [serverAfter, databaseAfter] = [processes?.cpuSeconds(), database.processes.cpuSeconds()];
  const after = await database.progress();

  if (failures > 0) throw new InvalidRoundError(`${failures} requests were not answered with 200`);
  if (creates === 0) throw new InvalidRoundError('nothing was created');
  const stored = storesPlants ? await database.countFrom(idPrefix) : 0;
  if (storesPlants && stored < creates) throw new InvalidRoundError(`of ${creates} plants ${stored} are stored`);
  const perThousand = (before?: number, after?: number): number | undefined =>
    before === undefined || after === undefined ? undefined : ((after - before) / creates) * 1000;
  return {
    createsPerSecond: creates / taken,
    p50,
    p99,
    serverCpu: perThousand(serverBefore, serverAfter),
    databaseCpu: storesPlants ? perThousand(databaseBefore, databaseAfter) : undefined,
    plantsPerCommit: storesPlants ? (after.plants - before.plants) / (after.commits - before.commits) : undefined,
    peakMemory: processes?.peakMemory(),
    generatorLoad:
      generatorBefore === undefined || generatorAfter === undefined
        ? undefined
        : (generatorAfter - generatorBefore) / taken,
  };
}

/** Programs that ended count with this process, which started them. */
function generatorCpu(): number | undefined {
  return ProcessTree.cpuSecondsOf(process.pid);
}
