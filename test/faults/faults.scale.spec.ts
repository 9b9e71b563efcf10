import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeMachine } from '../../bench/report.js';
import { figure } from '../support/jest/suite.js';
import { until } from '../support/until.js';
import { Cluster } from './cluster.js';
import { DATABASE_FAULTS } from './database-faults.js';
import { type Fault, repeat } from './fault.js';
import { type Comparison, Load, STORED_PLANTS, type StoredPlant } from './load.js';
import { MACHINE_FAULTS } from './machine-faults.js';

/** `LONG=1` for many rounds of each fault, whose figures go to docs/faults.md. */
const LONG = process.env.LONG !== undefined;
const [CLIENTS, WARM_UP, MIN_ROUNDS, MAX_ROUNDS, ROUNDS_MS] = LONG ? [32, 1000, 3, 20, 15_000] : [16, 200, 1, 1, 0];
const FAULTS = [...MACHINE_FAULTS, ...DATABASE_FAULTS];
const DOCUMENT = 'docs/faults.md';
const FIGURES = /(?<=<!-- figures -->\n)[^]*(?=<!-- end of figures -->)/;
const AFTER_MS = 300;
/** The service has not recovered if it takes longer. */
const RECOVERY_TIMEOUT_MS = 20_000;

/** One injection of a fault. */
interface Round extends Comparison {
  /** Milliseconds from the first create by a new connection to the first 200 of the service; undefined if it did not recover. */
  readonly recovery: number | undefined;
}

async function tryOnce(cluster: Cluster, fault: Fault): Promise<Round> {
  await fault.prepare?.(cluster);
  try {
    await cluster.serving();
    await using load = new Load(cluster.port, CLIENTS);
    await until(() => load.createdCount >= WARM_UP);
    const inject = (): unknown => fault.inject(cluster);
    if (fault.every !== undefined) await repeat(fault.lasts ?? 0, fault.every, inject);
    else await Promise.resolve(inject()).then(() => sleep(fault.lasts ?? 0));
    const ending = performance.now();
    const accepting = cluster.accepting();
    await fault.restore?.(cluster);
    const back = fault.endsService ? performance.now() : await accepting;
    const first = await load.firstCreated(ending, RECOVERY_TIMEOUT_MS);
    await sleep(AFTER_MS);
    await load.stop();
    await cluster.settled();
    const comparison = load.compareWith(await cluster.query<StoredPlant>(STORED_PLANTS));
    return { ...comparison, recovery: first && Math.max(0, first - back) };
  } finally {
    await fault.cleanup?.(cluster);
    await cluster.query('TRUNCATE plants');
  }
}

function expectKept(fault: Fault, { lost, storedThoughRefused, recovery, outcomes }: Round): void {
  const refusals = [...outcomes.keys()].filter((outcome) => ![200, 40901, 40902].includes(outcome as number));
  expect(storedThoughRefused).toBe(0);
  expect(recovery).toBeDefined();
  expect(refusals).not.toContain('no answer in time');
  if (fault.loses) expect(lost).toBeGreaterThan(0);
  else expect(lost).toBe(0);
  if (fault.answersAll) expect(refusals).not.toContain('no answer');
  if (fault.createsAll) expect(refusals).toEqual([]);
}

/** The row of a fault, as docs/faults.md has it. */
function rowOf({ name }: Fault, rounds: readonly Round[]): string[] {
  const sum = (count: (round: Round) => number): string =>
    rounds.reduce((total, round) => total + count(round), 0).toLocaleString('en');
  const times = rounds.map(({ recovery = Infinity }) => recovery).sort((a, b) => a - b);
  const outcomes = new Set(rounds.flatMap((round) => [...round.outcomes.keys()]));
  outcomes.delete(200);
  return [
    name,
    String(rounds.length),
    sum(({ acknowledged }) => acknowledged),
    sum(({ lost }) => lost),
    sum(({ storedThoughRefused }) => storedThoughRefused),
    `${sum(({ unknownStored }) => unknownStored)} / ${sum(({ unknownNotStored }) => unknownNotStored)}`,
    times[Math.ceil(times.length * 0.95) - 1]?.toFixed(0) ?? '',
    [...outcomes].map((outcome) => `${outcome} × ${sum((round) => round.outcomes.get(outcome) ?? 0)}`).join(', '),
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
    const test = fault.needsRoot && process.getuid?.() !== 0 ? it.skip : it;
    test(`should ${fault.loses ? '' : 'not '}lose a plant that was acknowledged: ${fault.name}`, async () => {
      const rounds: Round[] = [];
      const end = performance.now() + ROUNDS_MS;
      while (rounds.length < MIN_ROUNDS || (rounds.length < MAX_ROUNDS && performance.now() < end))
        rounds.push(await tryOnce(cluster, fault));
      const row = rowOf(fault, rounds);
      rows.push(row);
      figure(fault.name, row.slice(1).join('; '));
      for (const round of rounds) expectKept(fault, round);
    });
  }
});
