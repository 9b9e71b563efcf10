import { ExplainedError } from '../util/text.js';

/** The statement stored nothing: it was not sent, or its answer says so. */
export abstract class NothingWrittenError extends Error {}

/** No connection could be made, so no statement was sent. */
export class DatabaseUnreachableError extends NothingWrittenError {
  override readonly name = 'DatabaseUnreachableError';
}

/** Every connection stayed busy, or too many creates wait; no statement was sent. */
export class DatabaseOverloadedError extends NothingWrittenError {
  override readonly name = 'DatabaseOverloadedError';
}

/** An insert stored nothing twice, although no plant has the id. */
export class PlantLeftOutError extends NothingWrittenError {
  override readonly name = 'PlantLeftOutError';
  override readonly message =
    'no plant has the id, and none is stored: a trigger or a rule of the table plants leaves it out';
}

/** The time was up; the outcome of a statement that was sent is unknown. */
export class DatabaseTimeoutError extends Error {
  override readonly name = 'DatabaseTimeoutError';
}

/** The connection was lost; the outcome of a statement that was sent is unknown. The cause says what happened. */
export class DatabaseLostError extends Error {
  override readonly name = 'DatabaseLostError';
}

/** The database cannot be used, or cannot be migrated. The message says what to do. */
export class MigrationError extends ExplainedError {
  override readonly name = 'MigrationError';

  constructor(
    /** `behind`: migrations are missing. `unknown`: there are others. `locked`: another session was in the way. */
    readonly code: 'unreachable' | 'behind' | 'unknown' | 'locked' | 'refused',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
