import type { Contender } from './contender.js';
import { nextIdPrefix } from './id-prefix.js';
import { measureRound, type RoundOptions } from './measure-round.js';
import type { Round } from './round.js';

export interface AlternationOptions extends RoundOptions {
  readonly rounds: number;
  /** Brings the contender's database to the state in which each round begins. */
  readonly prepare: (contender: Contender) => Promise<void>;
  readonly onRound: (contender: Contender, outcome: Round | Error) => void;
}

/** Measures all contenders in turn, so that a machine that is busy for a while is so for each of them. */
export async function alternate(contenders: readonly Contender[], options: AlternationOptions): Promise<void> {
  const { rounds, prepare, onRound, signal, connections, seconds } = options;
  // A server that has just been started compiles its code under its first load.
  for (const contender of contenders) {
    await contender.load({ connections, seconds, idPrefix: nextIdPrefix(), signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      onRound(contender, error as Error);
    });
  }
  for (let round = 0; round < rounds; round++) {
    // Every other round goes backwards: none is always measured behind the same other.
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      await prepare(contender);
      const outcome = await measureRound(contender, options).catch((error: unknown) => {
        signal.throwIfAborted();
        return error as Error;
      });
      onRound(contender, outcome);
    }
  }
}
