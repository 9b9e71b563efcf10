/** An id is taken, so nothing was written, but the plant that holds it was not found. */
export class HolderLookupError extends Error {
  override readonly name = 'HolderLookupError';
}
