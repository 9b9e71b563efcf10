/** An `AuthModule` that can't work as it was configured; the message names the option and what would be right, never a token. */
export class AuthModuleOptionsError extends Error {
  override readonly name = 'AuthModuleOptionsError';
}
