/** A `PlantsModule` that can't work as it was configured; the message names the option and what would be right. */
export class PlantsModuleOptionsError extends Error {
  override readonly name = 'PlantsModuleOptionsError';
}
