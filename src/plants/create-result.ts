import type { PlantRecord } from './plant-record.js';

/** What became of a create: the plant is stored, durably, or its id was taken and nothing was written. */
export interface CreateResult {
  readonly stored: boolean;
  /** The plant that holds the id: where it is taken, and the create has an idempotency key to compare. */
  readonly holder?: PlantRecord;
}
