import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeMachine } from '../../bench/report.js';
import { type Comparison, Load } from '../support/http/load.js';
import { until } from '../support/until.js';
import { Cluster, type Fault } from './cluster.js';
import { FAULTS } from './faults.js';

/** `LONG=1` for many rounds of each fault, whose figures go to docs/faults.md. */
const LONG = process.env.LONG !== undefined;
const [CLIENTS, WARM_UP, MIN_ROUNDS, MAX_ROUNDS, ROUNDS_MS] = LONG ? [32, 1000, 3, 20, 15_000] : [16, 200, 1, 1, 0];
const DOCUMENT = 'docs/faults.md';
const FIGURES = /(?<=<!-- figures -->\n)[^]*(?=<!-- end of figures -->)/;
const AFTER_MS = 300;
/** The service has not recovered if it takes longer. */
const RECOVERY_TIMEOUT_MS = 20_000;

/** What came of a fault once. */
interface Round extends Comparison {
  readonly failures: Load['failures'];
  /** Milliseconds from the first create by a new connection to the first 200 of the service. */
  readonly recovery: number;
}

async function tryOnce(cluster: Cluster, fault: Fault): Promise<Round> {
  await fault.prepare?.(cluster);
  try {
    await cluster.serving();
    await using load = new Load(cluster.port, CLIENTS);
    await until(() => load.created.length >= WARM_UP);
    await fault.happen(cluster);
    const end = performance.now();
    await cluster.accepting();
    const accepting = performance.now();
    await until(() => Number(load.created.at(-1)) > end, RECOVERY_TIMEOUT_MS);
    const first = Number(load.created.find((time) => time > end));
    await sleep(AFTER_MS);
    await load.stop();
    await cluster.settled();
    const { failures } = load;
    return { ...(await load.compareWith(cluster)), failures, recovery: Math.max(0, first - accepting) };
  } finally {
    await fault.cleanup?.(cluster);
    await cluster.removeStandby();
    await cluster.query('TRUNCATE plants');
  }
}

function expectKept(fault: Fault, { lost, storedThoughRefused, failures }: Round): void {
  expect(storedThoughRefused).toBe(0);
  expect(failures).not.toContain('no answer in time');
  if (fault.loses) expect(lost).toBeGreaterThan(0);
  else expect(lost).toBe(0);
  if (fault.answersAll) expect(failures).not.toContain('no answer');
  if (fault.createsAll) expect(failures).toEqual([]);
}

/** The row of a fault, as docs/faults.md has it. */
function rowOf({ name }: Fault, rounds: readonly Round[]): string[] {
  const sum = (count: (round: Round) => number): string =>
    rounds.reduce((total, round) => total + count(round), 0).toLocaleString('en');
  const times = rounds.map(({ recovery }) => recovery).sort((a, b) => a - b);
  const seen = new Set(rounds.flatMap(({ failures }) => failures));
  const countOf = (outcome: unknown): string =>
    sum(({ failures }) => failures.filter((failure) => failure === outcome).length);
  return [
    name,
    String(rounds.length),
    sum(({ acknowledged }) => acknowledged),
    sum(({ lost }) => lost),
    sum(({ storedThoughRefused }) => storedThoughRefused),
    `${sum(({ unknownStored }) => unknownStored)} / ${sum(({ unknownNotStored }) => unknownNotStored)}`,
    times[Math.ceil(times.length * 0.95) - 1]?.toFixed(0) ?? '',
    [...seen].map((outcome) => `${outcome} × ${countOf(outcome)}`).join(', '),
  ];
}

describe('A fault under load', () => {
  const rows: string[][] = [];
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    if (!LONG || rows.length < FAULTS.length) return;
    const text = readFileSync(DOCUMENT, 'utf8');
    const [head = ''] = /^\| Fault .*\n\| -.*\n/m.exec(text) ?? [];
    const table = rows.map((row) => `| ${row.join(' | ')} |\n`).join('');
    writeFileSync(
      DOCUMENT,
      text.replace(FIGURES, () => `\n${describeMachine()}\n\n${head}${table}\n`),
    );
    execFileSync(process.execPath, ['node_modules/prettier/bin/prettier.cjs', '--write', DOCUMENT]);
  });

  for (const fault of FAULTS) {
    it(`should ${fault.loses ? '' : 'not '}lose a plant that was acknowledged: ${fault.name}`, async () => {
      const rounds: Round[] = [];
      const end = performance.now() + ROUNDS_MS;
      while (rounds.length < MIN_ROUNDS || (rounds.length < MAX_ROUNDS && performance.now() < end))
        rounds.push(await tryOnce(cluster, fault));
      const row = rowOf(fault, rounds);
      rows.push(row);
      process.stderr.write(`| ${row.join(' | ')} |\n`);
      for (const round of rounds) expectKept(fault, round);
    });
  }
});
