import { firstIdOfRun } from '../load/ids.js';
import type { Contender } from './contender.js';
import { measureRound, type RoundOptions } from './measure-round.js';
import type { MeasuringTime } from './measuring-time.js';
import type { Round } from './round.js';

export interface AlternationOptions extends MeasuringTime, RoundOptions {
  /** Brings a contender to the state in which each of its rounds begins. */
  readonly prepare?: (contender: Contender) => Promise<void>;
  readonly onRound: (contender: Contender, outcome: Round | Error) => void;
}

/**
 * Measures all contenders, which run at the same time, in turns of a random order: a machine that is busy for a while is so for each of
 * them. A contender that fails takes no further turn.
 */
export async function alternate(contenders: readonly Contender[], options: AlternationOptions): Promise<void> {
  const { rounds, prepare, onRound, signal, connections } = options;
  const running = new Set(contenders);
  const attempt = async (contender: Contender, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      running.delete(contender);
      onRound(contender, error as Error);
    }
  };
  // A server that has just been started compiles its code under its first load.
  const warmUp = { connections, seconds: options.warmUpSeconds, signal };
  for (const contender of contenders) {
    await attempt(contender, async () => {
      await contender.load({ ...warmUp, firstId: firstIdOfRun() });
    });
  }
  for (let round = 0; round < rounds; round++) {
    for (const contender of shuffled(running)) {
      await attempt(contender, async () => {
        await prepare?.(contender);
        onRound(contender, await measureRound(contender, options));
      });
    }
  }
}

function shuffled<T>(items: Iterable<T>): T[] {
  const keyed = Array.from(items, (item) => ({ item, key: Math.random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
