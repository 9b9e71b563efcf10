import { writeFile } from 'node:fs/promises';
import { BENCH_USAGE, type BenchOptions, readBenchOptions } from './bench-options.js';
import { BenchmarkPostgres } from './database/benchmark-postgres.js';
import { measureStarts } from './measure/measure-starts.js';
import { createDatabases, measureTargets } from './measure/measure-targets.js';
import { drawChart } from './report/chart.js';
import { describeMachine } from './report/machine.js';
import { renderReport } from './report/render-report.js';
import type { Report } from './report/report.js';
import { runBenchmark } from './run-benchmark.js';

const PREFACE = `![Creates a second and latencies](benchmark.svg)

Written by \`npm run bench\`; [bench/README.md](../bench/README.md) says what is measured, and how. Server, PostgreSQL and load share one
machine: compare the figures with each other, and not with those of another machine.`;

await runBenchmark(async (signal) => {
  const options = readBenchOptions(process.argv.slice(2));
  if (!options) {
    console.log(BENCH_USAGE);
    return;
  }
  const report = await measure(options, signal);
  const text = renderReport(report);
  console.log(text);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
  if (options.report !== undefined) await writeFile(options.report, `# Benchmark\n\n${PREFACE}\n\n${text}\n`);
  if (options.chart !== undefined) await writeFile(options.chart, drawChart(report));
});

async function measure(options: BenchOptions, signal: AbortSignal): Promise<Report> {
  const { targets, build } = options;
  await using postgres = await BenchmarkPostgres.start();
  const databases = await createDatabases(postgres, targets, build);
  return {
    machine: describeMachine(),
    starts: await measureStarts(targets, databases, signal),
    measurements: await measureTargets(databases, { ...options, signal, log: console.error }),
  };
}
