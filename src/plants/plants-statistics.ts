import { Injectable } from '@nestjs/common';

/** What a store has done since it started and has to do now, for the metrics of an application. */
@Injectable()
export class PlantsStatistics {
  /** Plants that were created. */
  created = 0;
  /** Statements that were sent to create plants; with many creates at a time each has several of them. */
  statements = 0;
  /** Creates that wait for a statement now. */
  waiting = 0;
  /** Creates whose statement is under way now. */
  inFlight = 0;
}
