/** A round whose figures would mean nothing. */
export class InvalidRoundError extends Error {
  override readonly name = 'InvalidRoundError';
}
