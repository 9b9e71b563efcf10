import { OptionsError } from '../util/options.js';

/**
 * An `AuthModule` that can't work as it was configured. The message has a line for each fault: the option, and what would be
 * right, never a token.
 */
export class AuthModuleOptionsError extends OptionsError {
  override readonly name = 'AuthModuleOptionsError';

  constructor(faults: readonly string[]) {
    super('AuthModule', faults);
  }
}
