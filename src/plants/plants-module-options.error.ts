import { OptionsError } from '../options/options.error.js';

/** A `PlantsModule` that can't work as it was configured. The message has a line for each fault: the option, and what would be right. */
export class PlantsModuleOptionsError extends OptionsError {
  override readonly name = 'PlantsModuleOptionsError';

  constructor(faults: readonly string[]) {
    super('PlantsModule', faults);
  }
}
