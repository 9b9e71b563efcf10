/** More creates wait for the database than may wait; this one was not sent. */
export class WriteQueueFullError extends Error {
  override readonly name = 'WriteQueueFullError';
}
