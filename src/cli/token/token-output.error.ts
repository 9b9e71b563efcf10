/** The token was made, and could not be handed over. */
export class TokenOutputError extends Error {
  override readonly name = 'TokenOutputError';
}
