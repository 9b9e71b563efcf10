import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect, parseArgs } from 'node:util';
import { describeMachine } from '../../bench/report.js';
import { until } from '../support/until.js';
import { Cluster } from './cluster.js';
import { type Fault, FAULTS } from './fault-list.js';
import { fuzz } from './fuzz.js';
import { Load, type StoredPlant } from './load.js';
import { describeResult, type FaultResult, renderTable, type Round, type TestResult, writeFigures } from './report.js';

const USAGE = `npm run test:faults -- [--long] [--only TEXT] [--seed NUMBER]

Breaks the service's database, network and process under load, and compares the table with what was answered.
Then sends it bytes that are no requests.

  --long         many rounds of each fault, and writes the figures to docs/faults.md
  --only TEXT    only faults with this text in their name ("fuzz" for the fuzzed requests)
  --seed NUMBER  of the fuzzed requests, 1 by default: another one makes others
`;
// Of the package, from the build of the harness.
const DOCUMENT = new URL('../../../../../docs/faults.md', import.meta.url);
const AFTER_MS = 300;
/** The service has not recovered if it takes longer. */
const RECOVERY_TIMEOUT_MS = 20_000;
const SHORT = { connections: 16, warmUp: 200, seconds: 0, minRounds: 1, maxRounds: 1, requests: 2000 };
const LONG = { connections: 32, warmUp: 1000, seconds: 15, minRounds: 3, maxRounds: 20, requests: 50_000 };

const { values: options } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
const extent = options.long ? LONG : SHORT;

if (options.help) console.log(USAGE);
else await main();

async function main(): Promise<void> {
  const cluster = new Cluster();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      void cluster[Symbol.asyncDispose]().finally(() => process.exit(1));
    });
  }
  const results: TestResult[] = [];
  const finish = (result: TestResult): void => {
    results.push(result);
    printResult(result);
  };
  try {
    await cluster.start();
    const rows: FaultResult[] = [];
    for (const fault of FAULTS.filter(({ name }) => name.includes(options.only))) {
      const row = await tryFault(cluster, fault);
      rows.push(row);
      finish({ ...row, summary: describeResult(row) });
    }
    if (['', 'fuzz'].includes(options.only)) finish(await fuzz(cluster, extent.requests, Number(options.seed)));
    if (options.long && options.only === '') {
      const figures = [describeMachine(), renderTable(rows), `Fuzzed requests: ${results.at(-1)?.summary ?? ''}.`];
      await writeFigures(DOCUMENT, figures.join('\n\n'));
    }
  } catch (error) {
    // What a fault leaves behind when it fails is no ground for others.
    finish({ name: 'the run', summary: 'ended early', failures: [inspect(error)] });
  } finally {
    await cluster[Symbol.asyncDispose]();
  }
  reportTotals(results);
}

async function tryFault(cluster: Cluster, fault: Fault): Promise<FaultResult> {
  if (fault.needsRoot && process.getuid?.() !== 0) {
    return { name: fault.name, rounds: [], skipped: 'only root can mount a small disk', failures: [] };
  }
  const rounds: Round[] = [];
  const end = performance.now() + extent.seconds * 1000;
  do rounds.push(await tryOnce(cluster, fault));
  while (rounds.length < extent.minRounds || (rounds.length < extent.maxRounds && performance.now() < end));
  return { name: fault.name, rounds, failures: [...new Set(rounds.flatMap((round) => failuresOf(fault, round)))] };
}

async function tryOnce(cluster: Cluster, fault: Fault): Promise<Round> {
  await fault.prepare?.(cluster);
  await cluster.serving();
  await using load = new Load(cluster.port, extent.connections);
  await until(() => load.createdCount >= extent.warmUp);
  await fault.inject(cluster);
  const ending = performance.now();
  const accepting = cluster.accepting();
  await fault.restore?.(cluster);
  const back = fault.endsService ? performance.now() : await accepting;
  const first = await load.firstCreated(ending, RECOVERY_TIMEOUT_MS);
  await sleep(AFTER_MS);
  await load.stop();
  await cluster.settled();
  const rows = await cluster.primary.query<StoredPlant & Record<string, unknown>>(
    'SELECT id::text, name, tag, idempotency_key AS key FROM plants WHERE id > 0',
  );
  await fault.cleanup?.(cluster);
  await cluster.primary.query('TRUNCATE plants');
  // One that does not recover by itself does not spoil the other faults.
  if (first === undefined) await cluster.restartService();
  return { ...load.compareWith(rows), recovery: first && Math.max(0, first - back) };
}

function failuresOf(fault: Fault, round: Round): string[] {
  const failures: string[] = [];
  const { lost, storedThoughRefused, foreign, recovery, outcomes } = round;
  if (fault.loses && lost === 0) failures.push('nothing was lost, though the harness has to find a loss');
  if (!fault.loses && lost > 0) failures.push('acknowledged plants were lost');
  if (storedThoughRefused > 0) failures.push('refused plants were stored');
  if (foreign > 0) failures.push('plants were stored that nobody sent so');
  if (recovery === undefined) failures.push(`the service did not recover in ${RECOVERY_TIMEOUT_MS / 1000} s`);
  if (outcomes.has('no answer in time')) failures.push('requests were left without an answer');
  if (fault.answersAll && outcomes.has('no answer')) failures.push('requests ended without an answer');
  const refusals = [...outcomes.keys()].filter((outcome) => !['200', '40901', '40902'].includes(outcome));
  if (fault.createsAll && refusals.length > 0) failures.push(`creates failed: ${refusals.join(', ')}`);
  return failures;
}

function printResult({ name, summary, failures, skipped }: TestResult): void {
  const mark = skipped !== undefined ? '-' : failures.length > 0 ? '✗' : '✓';
  console.log([`${mark} ${name}`, summary, ...failures].join('\n    '));
}

/** The same line as Jest's runs end with. */
function reportTotals(results: readonly TestResult[]): void {
  const skipped = results.filter((result) => result.skipped !== undefined).length;
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const totals = `${results.length - failed - skipped} passed, ${failed} failed, ${skipped} skipped`;
  console.log(`\n${totals}`);
  if (process.env.TEST_TOTALS !== undefined) appendFileSync(process.env.TEST_TOTALS, `${totals}\n`);
  if (failed > 0) process.exitCode = 1;
}
