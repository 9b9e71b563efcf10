/** An id is taken, so nothing was written, but the plant that has it was not found. */
export class ExistingPlantLookupError extends Error {
  override readonly name = 'ExistingPlantLookupError';
}

/** An insert has stored nothing, though no plant has the id. */
export class PlantSkippedError extends Error {
  constructor(triggers: readonly string[]) {
    super(`a BEFORE INSERT trigger of the table plants leaves plants out: ${triggers.join(', ')}`);
  }
}

/** More creates wait for the database than may wait; this one was not sent. */
export class WriteQueueFullError extends Error {
  override readonly name = 'WriteQueueFullError';
}
