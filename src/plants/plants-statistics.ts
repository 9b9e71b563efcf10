import { Injectable } from '@nestjs/common';
import { Histogram } from '../util/histogram.js';
import type { Creator } from './plants.options.js';

/** Creators that are counted one by one; those beyond are counted together. */
const MAX_CREATORS = 1000;
const OTHERS = 'other';
/** Up to as many as one statement may have. */
const STATEMENT_PLANTS_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** What a store has done since it started and has to do now, for the metrics of an application. */
@Injectable()
export class PlantsStatistics {
  /** Plants that were created. */
  created = 0;
  /** Statements that were sent to create plants; with many creates at a time each has several of them. */
  statements = 0;
  /** Creates that wait for a statement now. */
  waiting = 0;
  /** Creates whose statement is in flight now. */
  inFlight = 0;
  /** Plants in each of the statements. */
  readonly statementPlants = new Histogram(STATEMENT_PLANTS_BOUNDS);
  /** Seconds that each statement took, with the wait for a connection. */
  readonly statementSeconds = Histogram.ofSeconds();
  /** Seconds from the arrival of each create to the sending of its statement. */
  readonly queueSeconds = Histogram.ofSeconds();
  private readonly counts = new Map<string, { plants: number }>();

  /** Plants that were created, by the label of who created them; those of nobody in particular are left out. */
  get createdBy(): ReadonlyMap<string, number> {
    return new Map([...this.counts].map(([label, { plants }]) => [label, plants]));
  }

  /** Counts a plant for its creator. */
  countCreated(creator: Creator | undefined): void {
    if (creator === undefined) return;
    const label = creator.metricLabel ?? creator.name;
    const count = this.counts.get(label);
    if (count) count.plants += 1;
    else if (this.counts.size < MAX_CREATORS || label === OTHERS) this.counts.set(label, { plants: 1 });
    else this.countCreated({ name: OTHERS });
  }
}
