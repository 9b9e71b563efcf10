/** A `PlantsModule` that can't work as it was configured. The message has a line for each fault: the option, and what would be right. */
export class PlantsModuleOptionsError extends Error {
  override readonly name = 'PlantsModuleOptionsError';

  constructor(faults: readonly string[]) {
    super(`The options of PlantsModule cannot be used:\n${faults.join('\n')}`);
  }
}
