import { mkdir, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawChart } from './chart.js';
import { BenchmarkPostgres } from './database.js';
import { describeDelay, parseDelay } from './delay.js';
import { type Measurement, measureTogether } from './measure.js';
import { describeMachine, numberText, renderTables } from './report.js';
import { batchingPeer, findNode, goPeers, nodePeers, type Node, storeTarget, type Target } from './targets.js';

/** At which the targets differ best. */
const CHART_CONNECTIONS = 64;

const PREFACE = `# Benchmark

![Creates a second and latencies](benchmark.svg)

Written by \`npm run bench\`; [bench/README.md](../bench/README.md) says what is measured, and how. Server, PostgreSQL
and load share one machine: compare the figures with each other, and not with those of another machine.`;

const { values } = parseArgs({
  options: {
    compare: { type: 'string' },
    connections: { type: 'string', default: '1,8,64,256' },
    delay: { type: 'string' },
    node: { type: 'string', multiple: true, default: [] },
    out: { type: 'string' },
    rounds: { type: 'string', default: '60' },
    'max-warm-up': { type: 'string', default: '300' },
  },
});
const rounds = wholeNumber('--rounds', values.rounds);
const maxWarmUp = wholeNumber('--max-warm-up', values['max-warm-up']);
const levels = values.connections.split(',').map((text) => wholeNumber('--connections', text));
const delay = values.delay === undefined ? undefined : parseDelay(values.delay);
const nodes = await Promise.all([process.execPath, ...values.node].map(findNode));

// The measuring ends between two turns: what was started is stopped, and what was measured is reported.
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    console.error(`  ${signal}: stopping`);
    process.exitCode = 128 + constants.signals[signal];
    interruption.abort();
  });
}

if (values.out !== undefined) await mkdir(values.out, { recursive: true });
await using postgres = await BenchmarkPostgres.start(delay);
const targets = await chooseTargets(values.compare);
const sections = [await describeRun()];
console.log(sections[0]);
for (const connections of levels) {
  if (interruption.signal.aborted) break;
  console.error(`  ${inWords(connections)}, ${targets.length} targets, ${rounds} rounds`);
  const { signal } = interruption;
  const measurements = await measureTogether(targets, { connections, rounds, maxWarmUp, postgres, signal });
  const counted = Math.min(...measurements.map((one) => one.rounds.length));
  if (measurements.length < targets.length || counted === 0) break;
  await report(measurements, connections, counted);
}

/** The store and its peers on each Node.js, or this build, another one and what batches at least. */
async function chooseTargets(otherBuild: string | undefined): Promise<Target[]> {
  const targetsOn = (node: Node): Target[] => {
    const store = storeTarget(node, 'plant store', 'dist');
    if (otherBuild === undefined) return [store, ...nodePeers(node)];
    return [store, storeTarget(node, `plant store, ${otherBuild}`, otherBuild), batchingPeer(node)];
  };
  return [...nodes.flatMap(targetsOn), ...(otherBuild === undefined ? await goPeers() : [])];
}

async function describeRun(): Promise<string> {
  const [version, commit] = [await postgres.version(), await postgres.commitTime()];
  const parts = [
    describeMachine(),
    `PostgreSQL ${version}.`,
    `A commit takes ${numberText(commit)} ms.`,
    'Load, service and PostgreSQL share all cores.',
  ];
  return [...parts, ...(delay ? [describeDelay(delay)] : [])].join(' ');
}

/** Prints a level as soon as it is measured, and writes what there is so far. */
async function report(measurements: readonly Measurement[], connections: number, counted: number): Promise<void> {
  const stopped = counted < rounds ? `\n\nStopped after ${counted} of ${rounds} rounds.` : '';
  const section = `## ${inWords(connections)}${stopped}\n\n${renderTables(measurements)}`;
  sections.push(section);
  console.log(`\n${section}`);
  if (values.out === undefined) return;
  await writeFile(join(values.out, 'benchmark.md'), `${[PREFACE, ...sections].join('\n\n')}\n`);
  if (connections !== CHART_CONNECTIONS) return;
  await writeFile(join(values.out, 'benchmark.svg'), drawChart(measurements, connections));
}

function inWords(connections: number): string {
  return connections === 1 ? '1 connection' : `${connections} connections`;
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`${option} should be a whole number from 1 on`);
  return number;
}
