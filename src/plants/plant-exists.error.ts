import { ApiError } from '../errors/api-error.js';

export class PlantExistsError extends ApiError {
  constructor(id: bigint) {
    super(40901, `The id ${id} is taken: a plant with this id exists already. Send another id.`);
  }
}
