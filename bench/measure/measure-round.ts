import { setTimeout } from 'node:timers/promises';
import { firstIdOfRun } from '../load/ids.js';
import type { Contender } from './contender.js';
import type { Round } from './round.js';

/** What a server does behind its last answer belongs to it. */
const AFTER_MS = 5;

export interface RoundOptions {
  readonly connections: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** Fails if anything was answered but a create, or a plant that was answered is not stored. */
export async function measureRound(contender: Contender, options: RoundOptions): Promise<Round> {
  const { database, processes, storesPlants } = contender;
  const firstId = firstIdOfRun();
  await contender.connect(options.connections);
  const before = await database.progress(firstId);
  const cpuBefore = [processes?.cpuTime(), database.processes.cpuTime()];
  const { creates, seconds, p50, p99 } = await contender.load({ ...options, firstId });
  await setTimeout(AFTER_MS);
  const cpuAfter = [processes?.cpuTime(), database.processes.cpuTime()];
  const after = await database.progress(firstId);

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
    ...(storesPlants && {
      databaseCpu,
      plantsPerCommit: stored / (after.commits - before.commits),
      walBytes: (after.walBytes - before.walBytes) / creates,
    }),
  };
}
