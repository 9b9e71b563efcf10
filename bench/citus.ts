import { parseArgs } from 'node:util';
import { CitusCluster } from '../test/support/database/citus-cluster.js';
import { BenchmarkDatabase } from './database/benchmark-database.js';
import { migrate } from './database/benchmark-postgres.js';
import { firstIdOfRun } from './load/ids.js';
import { alternate } from './measure/alternate.js';
import type { Contender } from './measure/contender.js';
import { describeOutcome } from './measure/describe-outcome.js';
import { figureOf, type Measurement } from './measure/measurement.js';
import { measuringTime, type MeasuringTime } from './measure/measuring-time.js';
import { startContender } from './measure/start-contender.js';
import { positiveNumber } from './option-numbers.js';
import { describeMachine } from './report/machine.js';
import { numberText } from './report/number-text.js';
import { ratio } from './report/report.js';
import { table } from './report/table.js';
import { runBenchmark } from './run-benchmark.js';
import { storeTarget } from './targets/all-targets.js';

const USAGE = `npm run bench:citus -- [options]

  Measures the store over Debian's PostgreSQL, and over Citus of the same PostgreSQL: a coordinator and workers on this machine.

  --workers N            2 unless given
  --shards N             4 unless given
  --connections N        64 unless given
  --rounds N             5 unless given; medians are reported
  --seconds N            how long one round is measured; 4 unless given
  --warm-up N            seconds of load before that; 2 unless given
  --build DIR            a build of the store; dist unless given`;
const HEADER = ['creates/s', '÷ plain', 'p50 ms', 'p99 ms', 'CPU µs', 'PostgreSQL CPU µs', 'plants/commit'];

type Place = readonly [title: string, url: string, nodes: readonly string[]];

await runBenchmark(async (signal) => {
  const { values } = parseArgs({
    options: {
      workers: { type: 'string', default: '2' },
      shards: { type: 'string', default: '4' },
      connections: { type: 'string', default: '64' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '4' },
      'warm-up': { type: 'string', default: '2' },
      build: { type: 'string', default: 'dist' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const [workers, shards] = [positiveNumber('--workers', values.workers), positiveNumber('--shards', values.shards)];
  const connections = positiveNumber('--connections', values.connections);
  const time = measuringTime(values);
  await using plain = await CitusCluster.start(0);
  await using citus = await CitusCluster.start(workers);
  for (const { coordinator } of [plain, citus]) await migrate(coordinator.url(), values.build);
  await distribute(citus, shards);
  const nodes = citus.nodes.map((node) => node.url());
  const measurements = await measurePlaces(
    [
      ['plain PostgreSQL', plain.coordinator.url(), [plain.coordinator.url()]],
      ['Citus, asked through the coordinator', nodes[0] ?? '', nodes],
      ['Citus, asked through a worker', nodes[1] ?? '', nodes],
    ],
    { build: values.build, connections, signal, ...time },
  );
  const cluster = `${workers} workers, ${shards} shards, ${connections} connections.`;
  console.log(`${describeMachine()} ${cluster}\n\n${citusTable(measurements)}`);
});

async function distribute({ coordinator }: CitusCluster, shards: number): Promise<void> {
  for (const name of ['access_tokens', '_prisma_migrations'])
    await coordinator.query(`SELECT create_reference_table('${name}')`);
  await coordinator.query(`SELECT create_distributed_table('plants', 'id', shard_count := ${shards})`);
}

interface PlacesOptions extends MeasuringTime {
  readonly build: string;
  readonly connections: number;
  readonly signal: AbortSignal;
}

/** The store over each of them, in turn. */
async function measurePlaces(places: readonly Place[], options: PlacesOptions): Promise<Measurement[]> {
  const { build, connections, warmUpSeconds, signal } = options;
  const measurements = new Map<Contender, Measurement>();
  const databases: BenchmarkDatabase[] = [];
  try {
    for (const [title, url, nodes] of places) {
      // What is counted, and emptied, is so on the coordinator.
      const database = await BenchmarkDatabase.open(url, { nodes });
      databases.push(database);
      const contender = await startContender(storeTarget('plant-store', title, build), database);
      measurements.set(contender, { target: title, title, connections, rounds: [], faults: [] });
    }
    await alternate([...measurements.keys()], {
      ...options,
      prepare: async (contender) => {
        await contender.database.empty();
        await contender.load({ connections, seconds: warmUpSeconds, firstId: firstIdOfRun(), signal });
      },
      onRound: (contender, outcome) => {
        const measurement = measurements.get(contender);
        if (outcome instanceof Error) measurement?.faults.push(outcome.message);
        else measurement?.rounds.push(outcome);
        console.error(`  ${(measurement?.title ?? '').padEnd(40)} ${describeOutcome(outcome)}`);
      },
    });
  } finally {
    await Promise.all([...measurements.keys()].map((contender) => contender[Symbol.asyncDispose]()));
    for (const database of databases) await database[Symbol.asyncDispose]();
  }
  return [...measurements.values()];
}

/** Each compared with the first. */
function citusTable(measurements: readonly Measurement[]): string {
  const [first] = measurements;
  const rows = measurements.map((measurement) => {
    const rate = figureOf(measurement, 'createsPerSecond');
    return [
      measurement.title,
      numberText(rate),
      numberText(ratio(rate, first && figureOf(first, 'createsPerSecond'))),
      numberText(figureOf(measurement, 'p50')),
      numberText(figureOf(measurement, 'p99')),
      numberText(figureOf(measurement, 'serverCpu')),
      numberText(figureOf(measurement, 'databaseCpu')),
      numberText(figureOf(measurement, 'plantsPerCommit')),
    ];
  });
  const faults = measurements.flatMap(({ title, faults }) => faults.map((fault) => `- ${title}: ${fault}`));
  return [table(['the store over', ...HEADER], rows), ...faults].join('\n');
}
