import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type PlantRecord, PlantStatements, type StoredPlant } from './plant-sql.js';

/** Assumed number of connections if it is unknown. */
const MAX_UNKNOWN_CONNECTIONS = 9;
/** Connections for look-ups, the health check, and statements that are sent again. */
const OTHER_CONNECTIONS = 1;
/** While one statement waits for the disk, another is sent; with more of them, fewer plants would share each commit. */
const MAX_FAST_STATEMENTS = 2;
/** Statements in flight, slow ones included. */
const MAX_STATEMENTS = 8;
/** Statements of parts in flight: each may wait for a lock as long as a create may, and the others are for new creates. */
const MAX_PART_STATEMENTS = 4;
/** A statement that takes longer waits for something of its own, a lock on a row for example, and holds back no other. */
const SLOW_STATEMENT_MS = 100;

/** The way of statements to the table, or to a part of one that is spread over servers. Each statement has plants of one lane. */
export interface Lane extends Pick<PlantStatements, 'insert' | 'findExisting'> {
  /** Statements in flight that are not slow. */
  fast: number;
  readonly maxFast: number;
  /** Statements in flight to its server. */
  readonly load: { inFlight: number };
  /** Why no statement is to be sent now; undefined if there is no reason. */
  readonly refusal: Error | undefined;
  /** Statements in flight to its server at most, of so many for the whole table. */
  maxLoad(max: number): number;
  /** Calls back when the next statement may take the place of one that ended in this way. */
  afterStatement(failure: unknown, callback: () => void): void;
  /** Takes note of a failed statement, and returns whether its server was lost, so that its result is not known. */
  noteFailure(error: unknown): boolean;
}

/** The way to a table that is in one place. */
class OnlyLane implements Lane {
  fast = 0;
  readonly maxFast = MAX_FAST_STATEMENTS;
  readonly load = { inFlight: 0 };
  readonly refusal = undefined;

  constructor(private readonly statements: PlantStatements) {}

  insert(plants: readonly PlantRecord[], writeId: bigint): Promise<string[]> {
    return this.statements.insert(plants, writeId);
  }

  findExisting(plants: readonly PlantRecord[]): Promise<Map<bigint, StoredPlant>> {
    return this.statements.findExisting(plants);
  }

  maxLoad(): number {
    return MAX_STATEMENTS;
  }

  afterStatement(_failure: unknown, callback: () => void): void {
    callback();
  }

  noteFailure(): boolean {
    return false;
  }
}

/** The lane of each plant: there is one, unless the start finds that the table is spread over servers, and replaces these functions. */
@Injectable()
export class Lanes implements OnApplicationShutdown {
  private readonly only: Lane;
  /** Called when a lane that refused statements takes them again, or now refuses them. */
  onChange = (): void => undefined;

  constructor(statements: PlantStatements) {
    this.only = new OnlyLane(statements);
  }

  find: (id: bigint) => Lane = () => this.only;

  /** Asks each server. Undefined if there is one: the store's health asks that itself. */
  probe: () => Promise<LanesHealth> | undefined = () => undefined;

  /** Ends what the replacement has begun. */
  end = (): void => undefined;

  onApplicationShutdown(): void {
    this.end();
  }
}

/** What does not work. */
export interface LanesHealth {
  /** What is wrong with some of them, in one line; undefined if nothing is. */
  readonly degradation: string | undefined;
  /** The failure of one, if all fail; undefined if some work. */
  readonly failure: unknown;
}

/** How many statements may be in flight, so that creates gather for the next one meanwhile. */
export class InsertConcurrency {
  private readonly max: number;
  private readonly maxParts: number;
  private inFlight = 0;
  private parts = 0;

  /** @param onFree called when another statement may be sent */
  constructor(
    connections: number,
    private readonly onFree: () => void,
  ) {
    this.max = Math.max(1, (Number.isFinite(connections) ? connections : MAX_UNKNOWN_CONNECTIONS) - OTHER_CONNECTIONS);
    this.maxParts = Math.min(MAX_PART_STATEMENTS, Math.ceil(this.max / 2));
  }

  get isIdle(): boolean {
    return this.inFlight === 0;
  }

  /** Whether no part of a rejected statement may be sent now. */
  get partsWait(): boolean {
    return this.parts >= this.maxParts;
  }

  /** Statements on this lane that may be sent now. */
  free(lane: Lane): number {
    const ofServer = lane.maxLoad(this.max) - lane.load.inFlight;
    return Math.max(0, Math.min(lane.maxFast - lane.fast, this.max - this.inFlight, ofServer));
  }

  /** Begins a statement, and returns what ends it. */
  begin(lane: Lane, isPart: boolean): () => void {
    const { load } = lane;
    this.inFlight += 1;
    load.inFlight += 1;
    lane.fast += 1;
    if (isPart) this.parts += 1;
    let isFast = true;
    const release = (): void => {
      if (isFast) lane.fast -= 1;
      isFast = false;
      this.onFree();
    };
    const slow = setTimeout(release, SLOW_STATEMENT_MS);
    return () => {
      clearTimeout(slow);
      this.inFlight -= 1;
      load.inFlight -= 1;
      if (isPart) this.parts -= 1;
      release();
    };
  }
}
