import { Injectable } from '@nestjs/common';
import type { WriteCounters } from '../writer/batch-writer.js';

/** The counters of one store, for the metrics of the service. */
@Injectable()
export class PlantsMetrics implements WriteCounters {
  created = 0;
  /** Counts the creates that wait for a statement. The writer sets it. */
  countWaiting = (): number => 0;
  /** The creates whose statement is in flight. */
  inFlight = 0;
  /** Observes each statement: its plants, and its time with the wait for a connection. Metrics set it. */
  observeStatement: (plants: number, milliseconds: number) => void = () => undefined;
}
