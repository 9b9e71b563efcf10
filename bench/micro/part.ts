/** A part of the way of a request, measured alone. */
export interface Part {
  readonly title: string;
  readonly run: () => unknown;
  /** How many are in flight at a time if `run` is asynchronous; unless given, it is not. */
  readonly concurrency?: number;
}
