import { writeFile } from 'node:fs/promises';
import { drawChart } from './chart.js';
import { BenchmarkPostgres } from './database.js';
import { type Entry, measureStarts, measureTargets } from './measure.js';
import { BENCH_USAGE, type BenchOptions, readBenchOptions } from './options.js';
import { describeMachine, type Report, renderReport } from './report.js';

const PREFACE = `![Creates a second and latencies](benchmark.svg)

Written by \`npm run bench\`; [bench/README.md](../bench/README.md) says what is measured, and how. Server, PostgreSQL and load share one
machine: compare the figures with each other, and not with those of another machine.`;

// Ctrl-C or the like ends what was started.
const controller = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    controller.abort(new Error(`interrupted by ${name}`));
  });
}
try {
  const options = readBenchOptions(process.argv.slice(2));
  if (options) await run(options, controller.signal);
  else console.log(BENCH_USAGE);
} catch (error) {
  const { signal } = controller;
  const reason: unknown = signal.aborted ? signal.reason : error;
  // What was asked for wrongly, or ended on purpose, needs no stack.
  console.error(signal.aborted || isMisuse(reason) ? (reason as Error).message : reason);
  process.exitCode = 1;
}

async function run(options: BenchOptions, signal: AbortSignal): Promise<void> {
  const report = await measure(options, signal);
  const text = renderReport(report);
  console.log(text);
  if (options.report !== undefined) await writeFile(options.report, `# Benchmark\n\n${PREFACE}\n\n${text}\n`);
  if (options.chart !== undefined) await writeFile(options.chart, drawChart(report));
}

async function measure(options: BenchOptions, signal: AbortSignal): Promise<Report> {
  await using postgres = await BenchmarkPostgres.start();
  const entries: Entry[] = [];
  for (const target of options.targets) {
    entries.push([target, await postgres.createDatabase(target.name, target.build ?? options.build)]);
  }
  return {
    machine: describeMachine(),
    starts: await measureStarts(entries, signal),
    measurements: await measureTargets(entries, { ...options, signal }),
  };
}

/** An option that is unknown, or that has a value which it can't have. */
function isMisuse(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return error instanceof RangeError || String(code).startsWith('ERR_PARSE_ARGS');
}
