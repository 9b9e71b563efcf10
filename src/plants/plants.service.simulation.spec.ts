import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { randomOf, seedsOf, SimulatedTime } from '../../test/support/simulation.js';
import {
  DatabaseOverloadedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  isUndecided,
} from '../database/database.errors.js';
import type { ApiError } from '../errors/api-error.js';
import { BatchWriter, WriteStatistics, type WriteTable } from '../writer/batch-writer.js';
import { CitusPlantsRepository } from './citus-plants.repository.js';
import { PLANT_FIELDS } from './plant.dto.js';
import type { PlantRecord } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

declare const SIMULATION_SEEDS: number | string;

const TIMEOUT = 1000;
const MAX_EVENTS = 5000;
/** 0 stands for a plant that was created. */
const ANSWERS = [0, 40901, 40902, 50000, 50300, 50301, 50400];
/** What a row has in place of absent fields. */
const NULLS = Object.fromEntries(PLANT_FIELDS.map((field) => [field, null]));
const SHARDS = [-(2 ** 31), -(2 ** 30), 0, 2 ** 30];

const rejected = (code: string): Error =>
  Object.assign(new pg.DatabaseError(code, 0, 'error'), { code, severity: 'ERROR' });
const lost = (): Error => new Error('Connection terminated unexpectedly');
const unreachable = (): Error => new DatabaseUnreachableError('refused');

/** What a statement does: its answer comes after `wait`, and its commit, if it has one, at a moment of its own. */
interface Outcome {
  readonly wait: number;
  readonly error?: Error;
  readonly commitAfter?: number;
}

/** A database in which everything goes wrong that can. It writes down each promise that is broken. */
class World implements WriteTable<PlantRecord> {
  readonly isSharded: boolean;
  readonly time = new SimulatedTime();
  readonly rows = new Map<bigint, { readonly plant: PlantRecord; isDurable: boolean }>();
  readonly violations: string[] = [];
  /** Of each create by its write id. */
  readonly deadlines = new Map<bigint, number>();
  inFlight = 0;
  private readonly ofShards = new CitusPlantsRepository({} as never, { schema: 'public' } as never, SHARDS);
  /** Until then there is no connection, nothing may be written, or no standby confirms a commit. */
  private awayUntil = 0;
  private readOnlyUntil = 0;
  private standbyAwayUntil = 0;

  constructor(
    readonly random: () => number,
    private readonly maxInFlight: number,
    private readonly trouble: number,
  ) {
    this.isSharded = random() < 0.4;
  }

  shardOf(plant: PlantRecord): number {
    return this.isSharded ? this.ofShards.shardOf(plant) : 0;
  }

  isUndecided(error: unknown): boolean {
    return this.isSharded ? this.ofShards.isUndecided(error) : isUndecided(error);
  }

  /** Returns the index of one of the parts, in proportion to their sizes. */
  pick(...parts: number[]): number {
    let left = this.random() * parts.reduce((sum, part) => sum + part, 0);
    return parts.findIndex((part) => (left -= part) < 0);
  }

  insert(plants: readonly PlantRecord[]): Promise<string[]> {
    const stored: string[] = [];
    const outcome = this.outcomeOf(plants);
    const commit = (): void => {
      for (const plant of plants) {
        if (plant.name === 'omitted' || this.rows.has(plant.id)) continue;
        this.rows.set(plant.id, {
          plant: { ...NULLS, ...plant },
          isDurable: !(outcome.error instanceof DatabaseTimeoutError),
        });
        stored.push(String(plant.writeId));
      }
    };
    if (outcome.commitAfter !== undefined) this.time.after(outcome.commitAfter, commit);
    return this.call('insert', plants, outcome, () => stored);
  }

  findExisting(plants: readonly PlantRecord[]): Promise<ReadonlyMap<bigint, PlantRecord>> {
    const rows = plants.flatMap(({ id }) => this.rows.get(id) ?? []);
    // The commit of the look-up waits for the standby.
    const wait = Math.max(2, this.standbyAwayUntil - this.time.now);
    const late = wait > TIMEOUT && { wait: TIMEOUT, error: rejected('57014') };
    const broken = this.random() < this.trouble / 2 && {
      wait: 2,
      error: this.pick(1, 1) ? lost() : unreachable(),
    };
    return this.call('look-up', plants, broken || late || { wait }, () => {
      for (const row of rows) row.isDurable = true;
      return new Map(rows.map(({ plant }) => [plant.id, plant]));
    });
  }

  private outcomeOf(plants: readonly PlantRecord[]): Outcome {
    const { random, time } = this;
    const wait = 1 + random() * 5;
    if (time.now < this.awayUntil) return { wait, error: unreachable() };
    if (time.now < this.readOnlyUntil) return { wait, error: rejected('25006') };
    const later = random() < 0.5 ? { commitAfter: wait + random() * TIMEOUT } : {};
    const trouble = random() < this.trouble ? this.pick(4, 4, 2, 2, 2, 2, 2, 1, 1, 1, this.isSharded ? 2 : 0) : -1;
    if (trouble === 0) return { wait, error: lost(), ...later };
    if (trouble === 1) return { wait, error: lost(), commitAfter: wait };
    if (trouble === 2) return { wait: 1.25 * TIMEOUT, error: new DatabaseTimeoutError('no answer'), ...later };
    if (trouble === 3) return { wait: TIMEOUT / 2, error: new DatabaseOverloadedError('busy') };
    if (trouble === 4) return { wait, error: rejected(random() < 0.5 ? '53100' : '42P01') };
    const until = time.now + random() * 1500;
    if (trouble === 7) this.awayUntil = until;
    if (trouble === 7) return { wait, error: lost() };
    if (trouble === 8) this.readOnlyUntil = until;
    if (trouble === 8) return { wait, error: rejected('25006') };
    if (plants.some(({ name }) => name === 'bad')) return { wait, error: rejected('23514') };
    if (trouble === 5) return { wait, error: rejected(random() < 0.5 ? '40P01' : '40001') };
    if (trouble === 6 && plants.length > 1) return { wait: TIMEOUT / 5, error: rejected('55P03') };
    if (trouble === 6) return { wait: TIMEOUT, error: rejected('57014') };
    if (trouble === 9) this.standbyAwayUntil = until;
    if (trouble === 9) return { wait, error: new DatabaseTimeoutError('no standby confirmed it'), commitAfter: wait };
    if (trouble === 10) return { wait, error: rejected('XX000'), ...later };
    return { wait, commitAfter: wait };
  }

  private call<T>(what: string, plants: readonly PlantRecord[], outcome: Outcome, result: () => T): Promise<T> {
    const { time } = this;
    for (const { id, writeId } of plants)
      if ((this.deadlines.get(writeId ?? 0n) ?? 0) < time.now)
        this.violations.push(`${what} of ${id} after its deadline`);
    this.inFlight += 1;
    if (this.inFlight > this.maxInFlight) this.violations.push(`${this.inFlight} statements in flight`);
    const { wait, error } = outcome;
    return new Promise((resolve, reject) => {
      time.after(wait, () => {
        this.inFlight -= 1;
        if (error) reject(error);
        else resolve(result());
      });
    });
  }
}

/** How often each answer was given in all worlds: a service that refuses everything would keep its promises too. */
const given = new Map<number, number>();

/** Creates plants in such a world. Returns what went wrong. */
async function simulate(seed: number): Promise<string[]> {
  const random = randomOf(seed);
  const statements = 1 + Math.floor(random() * 9);
  const world = new World(random, statements, random() * 0.6);
  const { time, rows, violations } = world;
  const statistics = new WriteStatistics();
  const limits = { statements, waiting: 5 + Math.floor(random() * 40), timeout: TIMEOUT };
  const writer = new BatchWriter(world, limits, statistics);
  let last: PlantRecord | undefined;
  const write = (record: PlantRecord): Promise<PlantRecord | undefined> => writer.create((last = record));
  const plants = new PlantsService({} as never, {} as never, {} as never, {} as never, statistics);
  Object.assign(plants, { writer: { create: write } });
  const ids = 1 + Math.floor(random() * 40);
  const count = 1 + Math.floor(random() * 40);
  const answers: { readonly id: bigint; readonly writeId: bigint; readonly error: number }[] = [];

  const create = async (): Promise<void> => {
    const id = BigInt(Math.floor(random() * ids));
    const name = ['Rose', 'Tulip', 'bad', 'omitted'][world.pick(20, 5, 1, 1)] ?? '';
    const idempotencyKey = ['a', 'b', undefined][world.pick(2, 1, 3)];
    const violation = (text: string): void => void violations.push(`${id} ${name} ${idempotencyKey ?? ''}: ${text}`);
    const deadline = time.now + TIMEOUT;
    const creating = plants.create({ id, name }, { idempotencyKey });
    const { writeId } = last as { writeId: bigint };
    world.deadlines.set(writeId, deadline);
    const failure = await creating.then(
      () => undefined,
      (error: unknown) => error as ApiError,
    );
    const error = failure?.error ?? 0;
    answers.push({ id, writeId, error });
    given.set(error, (given.get(error) ?? 0) + 1);
    if (time.now > deadline + 500) violation(`answered ${time.now - deadline} ms late`);
    const row = rows.get(id);
    const isOwn = row?.plant.writeId === writeId;
    const isSame = idempotencyKey !== undefined && row?.plant.idempotencyKey === idempotencyKey;
    if (error === 0 && !row?.isDurable) violation('200, and not durable');
    if (error === 0 && !isOwn && !(isSame && row.plant.name === name)) violation('200, and another plant is stored');
    if (error === 40901 && (!row || isSame)) violation('40901, and no other plant');
    if (error === 40902 && !(isSame && row.plant.name !== name)) violation('40902, and no such plant');
    if (!ANSWERS.includes(error)) violation(`answered ${String(failure)}`);
    if (error === 50000 && !['bad', 'omitted'].includes(name) && !String(failure?.cause).includes('42P01'))
      violation(`50000: ${String(failure?.cause)}`);
  };

  const spread = random() < 0.3 ? 5 : 1.5 * TIMEOUT;
  const begin = (): void => {
    for (let left = count; left > 0; left -= 1) time.after(random() * spread, () => void create());
  };
  if ((await time.run(begin, MAX_EVENTS)) === MAX_EVENTS) violations.push('it does not end');
  for (const { id, writeId, error } of answers)
    if (rows.get(id)?.plant.writeId === writeId && ![0, 50400].includes(error))
      violations.push(`${id} ${error}, and stored`);
  if (answers.length !== count) violations.push(`${count - answers.length} creates have no answer`);
  if (statistics.countWaiting() + statistics.inFlight + world.inFlight !== 0) violations.push('something waits');
  return violations;
}

describe(PlantsService.name, () => {
  it('should keep its promises, whatever the database does', async () => {
    Logger.overrideLogger(false);
    // Nobody reads where the errors come from, and it takes a third of the time.
    Error.stackTraceLimit = 0;
    for (const seed of seedsOf(Number(SIMULATION_SEEDS))) {
      const violations = await simulate(seed);
      if (violations.length > 0) expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
    expect([...given.keys()].sort((one, other) => one - other)).toEqual(ANSWERS);
    const all = [...given.values()].reduce((sum, count) => sum + count, 0);
    expect((given.get(0) ?? 0) / all).toBeGreaterThan(0.2);
  }, 3_600_000);
});
