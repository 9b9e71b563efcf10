import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import type { Comparison } from './load.js';

/** One injection of a fault. */
export interface Round extends Comparison {
  /** Milliseconds from the first create by a new connection to the first 200 of the service; undefined if it did not recover. */
  readonly recovery: number | undefined;
}

/** A test of this run, as it is printed and counted. */
export interface TestResult {
  readonly name: string;
  readonly summary: string;
  readonly failures: readonly string[];
  /** Why it was not tried. */
  readonly skipped?: string;
}

export interface FaultResult extends Omit<TestResult, 'summary'> {
  readonly rounds: readonly Round[];
}

const HEADER = [
  'Fault',
  'rounds',
  'acknowledged',
  'lost',
  'stored though refused',
  'unknown (stored / not)',
  'recovery (p95, ms)',
  'what the clients saw',
];
const [BEGIN, END] = ['<!-- figures -->', '<!-- end of figures -->'];

/** The cells of a row of the report. */
function cells({ name, rounds, skipped }: FaultResult): string[] {
  if (skipped !== undefined) return [name, '0', '', '', '', '', '', `not tried: ${skipped}`];
  const sum = (count: (round: Round) => number): string =>
    rounds.reduce((total, round) => total + count(round), 0).toLocaleString('en');
  return [
    name,
    String(rounds.length),
    sum((round) => round.acknowledged),
    sum((round) => round.lost),
    sum((round) => round.storedThoughRefused + round.foreign),
    `${sum((round) => round.unknownStored)} / ${sum((round) => round.unknownNotStored)}`,
    describeRecovery(rounds),
    describeOutcomes(rounds),
  ];
}

export function renderTable(results: readonly FaultResult[]): string {
  const rows = [HEADER, HEADER.map((_, index) => (index === 0 || index === 7 ? '---' : '---:')), ...results.map(cells)];
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** On one line. */
export function describeResult(result: FaultResult): string {
  if (result.skipped !== undefined) return result.skipped;
  const figures = HEADER.map((title, index) => `${title}: ${cells(result)[index] ?? ''}`);
  return figures.slice(1).join(', ');
}

/** Puts the figures between the marks of the document. */
export async function writeFigures(document: URL, figures: string): Promise<void> {
  const text = await readFile(document, 'utf8');
  const [before, after] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
  const options = await resolveConfig(document);
  const whole = `${text.slice(0, before)}\n\n${figures}\n\n${text.slice(after)}`;
  await writeFile(document, await format(whole, { ...options, parser: 'markdown' }));
}

function describeRecovery(rounds: readonly Round[]): string {
  const times = rounds.map(({ recovery }) => recovery ?? Infinity).sort((a, b) => a - b);
  const p95 = times[Math.ceil(times.length * 0.95) - 1] ?? Infinity;
  return p95 === Infinity ? 'never' : p95.toFixed(0);
}

function describeOutcomes(rounds: readonly Round[]): string {
  const outcomes = new Map<string, number>();
  for (const round of rounds) {
    for (const [outcome, count] of round.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
  }
  outcomes.delete('200');
  return [...outcomes]
    .sort()
    .map(([outcome, count]) => `${outcome} × ${count.toLocaleString('en')}`)
    .join(', ');
}
