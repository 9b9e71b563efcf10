import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchmarkPostgres } from './database.js';
import { measureTogether, type Measurement } from './measure.js';
import { describeMachine, drawChart, renderTable } from './report.js';
import { buildPeers, storeTarget, type Target } from './targets.js';

const CONNECTIONS = [1, 8, 64, 256];

const PREFACE = `# Benchmark

![Creates a second and latencies](benchmark.svg)

Written by \`npm run bench\`; [bench/README.md](../bench/README.md) says what is measured, and how. Server, PostgreSQL and load share one
machine: compare the figures with each other, and not with those of another machine.`;

const { values } = parseArgs({
  options: {
    compare: { type: 'string' },
    rounds: { type: 'string', default: '60' },
    out: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds should be a whole number from 1 on');

// The measuring ends between two turns, so that what was started is stopped.
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interruption.abort(new Error(`interrupted by ${signal}`));
  });
}

const measurements = await measureAll(await chooseTargets(values.compare));
const report = `${describeMachine()}\n\n${renderTable(measurements)}`;
console.log(report);
if (values.out !== undefined) {
  await writeFile(join(values.out, 'benchmark.md'), `${PREFACE}\n\n${report}\n`);
  await writeFile(join(values.out, 'benchmark.svg'), drawChart(measurements));
}

/** The store and its peers, or the store and another build of it. */
async function chooseTargets(otherBuild: string | undefined): Promise<Target[]> {
  const store = storeTarget('plant store', 'dist');
  if (otherBuild === undefined) return [store, ...(await buildPeers())];
  return [store, storeTarget(`plant store, ${otherBuild}`, otherBuild)];
}

async function measureAll(targets: readonly Target[]): Promise<Measurement[]> {
  await using postgres = await BenchmarkPostgres.start();
  const all: Measurement[] = [];
  for (const connections of CONNECTIONS) {
    console.error(`  ${connections} connections, ${targets.length} targets, ${rounds} rounds`);
    const { signal } = interruption;
    all.push(...(await measureTogether(targets, { connections, rounds, postgres, signal })));
  }
  return all;
}
