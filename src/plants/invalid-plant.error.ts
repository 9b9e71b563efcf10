import { ApiError } from '../errors/api-error.js';

export class InvalidPlantError extends ApiError {
  /** @param faults one sentence part for each field that is missing or wrong */
  constructor(faults: readonly string[]) {
    super(40003, `This is not a plant: ${faults.join('. ')}.`);
  }
}
