import type { TableStatistics } from '../database/benchmark-database.js';
import type { BenchmarkPostgres } from '../database/benchmark-postgres.js';
import { firstIdOfRun, type IdOrder } from '../load/ids.js';
import { alternate } from '../measure/alternate.js';
import type { Contender } from '../measure/contender.js';
import { describeOutcome } from '../measure/describe-outcome.js';
import type { Measurement } from '../measure/measurement.js';
import { startContender } from '../measure/start-contender.js';
import type { GrowthOptions } from './growth-options.js';

/** A measurement with so many plants stored before. */
export interface GrowthMeasurement extends Measurement {
  readonly size: number;
  readonly ids: IdOrder;
  /** At the start, and when the server has ended. */
  readonly before: TableStatistics;
  after?: TableStatistics;
}

/** Measures each target with each number of plants stored, every one on a database of its own, in turn. */
export async function measureGrowth(
  postgres: BenchmarkPostgres,
  options: GrowthOptions,
  signal: AbortSignal,
): Promise<GrowthMeasurement[]> {
  const { targets, connections, warmUpSeconds } = options;
  const fillings = options.ids.flatMap((ids) => options.sizes.map((size) => ({ ids, size })));
  const measurements = new Map<Contender, GrowthMeasurement>();
  try {
    for (const target of targets) {
      for (const { ids, size } of fillings) {
        signal.throwIfAborted();
        const database = await postgres.createDatabase(`${target.name}_${ids}_${size}`, target.build ?? options.build, {
          ids,
        });
        if (size > 0) {
          console.error(`  storing ${size} plants with ${ids} ids for ${target.name}`);
          await database.fill(size);
        }
        const { name, title } = target;
        const before = await database.statistics();
        const contender = await startContender(target, database);
        measurements.set(contender, { target: name, title, connections, size, ids, before, rounds: [], faults: [] });
      }
    }
    await alternate([...measurements.keys()], {
      ...options,
      signal,
      prepare: async (contender) => {
        // What rounds add to a full table stays, as it is little compared with what was there.
        if (measurements.get(contender)?.size === 0) await contender.database.empty();
        else await contender.database.settle();
        await contender.load({ connections, seconds: warmUpSeconds, firstId: firstIdOfRun(), signal });
      },
      onRound: (contender, outcome) => {
        const measurement = measurements.get(contender);
        if (outcome instanceof Error) measurement?.faults.push(outcome.message);
        else measurement?.rounds.push(outcome);
        console.error(
          `  ${contender.name} with ${measurement?.size ?? 0} plants, ${measurement?.ids ?? ''} ids  ${describeOutcome(outcome)}`,
        );
      },
    });
  } finally {
    await Promise.all([...measurements.keys()].map((contender) => contender[Symbol.asyncDispose]()));
  }
  for (const [{ database }, measurement] of measurements) measurement.after = await database.statistics();
  return [...measurements.values()];
}
