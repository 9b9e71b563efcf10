import { BenchmarkPostgres } from './database/benchmark-postgres.js';
import { GROWTH_USAGE, readGrowthOptions } from './growth/growth-options.js';
import { growthTable } from './growth/growth-table.js';
import { measureGrowth } from './growth/measure-growth.js';
import { describeMachine } from './report/machine.js';
import { runBenchmark } from './run-benchmark.js';

await runBenchmark(async (signal) => {
  const options = readGrowthOptions(process.argv.slice(2));
  if (!options) {
    console.log(GROWTH_USAGE);
    return;
  }
  await using postgres = await BenchmarkPostgres.start({ shared_buffers: options.sharedBuffers });
  const measurements = await measureGrowth(postgres, options, signal);
  console.log(
    `${describeMachine()} ${options.connections} connections, shared_buffers ${options.sharedBuffers}.\n\n${growthTable(measurements)}`,
  );
});
