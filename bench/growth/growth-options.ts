import { parseArgs } from 'node:util';
import type { IdOrder } from '../load/ids.js';
import { measuringTime, type MeasuringTime } from '../measure/measuring-time.js';
import { positiveNumber, wholeNumbers } from '../option-numbers.js';
import { allTargets } from '../targets/all-targets.js';
import { chosenTargets } from '../targets/chosen-targets.js';
import type { Target } from '../targets/target.js';

export interface GrowthOptions extends MeasuringTime {
  readonly targets: readonly Target[];
  /** How many plants are stored before. */
  readonly sizes: readonly number[];
  readonly ids: readonly IdOrder[];
  readonly connections: number;
  /** Of PostgreSQL. */
  readonly sharedBuffers: string;
  readonly build: string;
}

export const GROWTH_USAGE = `npm run bench:growth -- [options]

  --sizes 0,1000000      how many plants are stored before; 0,1000000,10000000 unless given
  --ids random           whether ids are random or ascending; random,ascending unless given
  --shared-buffers 32MB  how much PostgreSQL keeps in memory of its own; 32MB unless given
  --targets a,b          what to measure; plant-store unless given
  --connections N        64 unless given
  --rounds N             5 unless given; medians are reported
  --seconds N            how long one round is measured; 4 unless given
  --warm-up N            seconds of load before that; 2 unless given
  --build DIR            a build of the store; several are compared; dist unless given`;

const ORDERS: readonly IdOrder[] = ['random', 'ascending'];

/** Undefined if only help was asked for. */
export function readGrowthOptions(args: string[]): GrowthOptions | undefined {
  const { values } = parseArgs({
    args,
    options: {
      sizes: { type: 'string', default: '0,1000000,10000000' },
      ids: { type: 'string', default: ORDERS.join(',') },
      'shared-buffers': { type: 'string', default: '32MB' },
      targets: { type: 'string', default: 'plant-store' },
      connections: { type: 'string', default: '64' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '4' },
      'warm-up': { type: 'string', default: '2' },
      build: { type: 'string', multiple: true, default: ['dist'] },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const all = allTargets({ builds: values.build });
  return {
    targets: chosenTargets(values.targets.split(','), all),
    sizes: wholeNumbers('--sizes', values.sizes),
    ids: idOrders(values.ids),
    sharedBuffers: values['shared-buffers'],
    connections: positiveNumber('--connections', values.connections),
    ...measuringTime(values),
    build: values.build[0] ?? '',
  };
}

function idOrders(text: string): IdOrder[] {
  return text.split(',').map((name) => {
    const order = ORDERS.find((one) => one === name);
    if (!order) throw new RangeError(`--ids is "${text}", should be random, ascending or both, separated by a comma`);
    return order;
  });
}
