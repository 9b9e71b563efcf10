import { OptionsError } from '../options/options.error.js';

/** A `Migrator` that can't work as it was called. The message has a line for each fault: the option, and what would be right. */
export class MigratorOptionsError extends OptionsError {
  override readonly name = 'MigratorOptionsError';

  constructor(faults: readonly string[]) {
    super('Migrator', faults);
  }
}
