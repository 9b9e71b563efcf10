/** A worker could not start. The message is what it would have told as the only process: the same for all of them. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';
}
