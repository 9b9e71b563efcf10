import pg from 'pg';
import { DatabaseTimeoutError } from '../../database/database.errors.js';
import { withinTime } from '../../util/timing.js';

/** SQLSTATE of a statement that was cancelled, most often because its time was up. */
const QUERY_CANCELED = '57014';

/** The answer to a statement, where it comes within these milliseconds. */
export async function answerInTime<T>(answer: Promise<T>, limit: number): Promise<T> {
  const timeUp = (): Error => new DatabaseTimeoutError(`the database did not answer within ${limit} ms`);
  try {
    return await withinTime(answer, limit, timeUp);
  } catch (error) {
    // Timers come first: where the process itself was busy, the answer may be there, unread.
    await new Promise(setImmediate);
    return await Promise.race([answer, Promise.reject(error as Error)]);
  }
}

/** Whether a statement failed because its time was up, by the clock of this process or by that of the server. */
export function isTimeUp(error: unknown): boolean {
  return error instanceof DatabaseTimeoutError || (error instanceof pg.DatabaseError && error.code === QUERY_CANCELED);
}
