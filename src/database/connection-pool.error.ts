/** No connection could be made, so no statement was sent. */
export class DatabaseUnreachableError extends Error {
  override readonly name = 'DatabaseUnreachableError';
}

/** Every connection stayed busy for as long as a statement may wait for one; no statement was sent. */
export class ConnectionPoolExhaustedError extends Error {
  override readonly name = 'ConnectionPoolExhaustedError';
}

/** The time was up before the answer came; what became of a statement that was sent is unknown. */
export class DatabaseTimeoutError extends Error {
  override readonly name = 'DatabaseTimeoutError';
}
