import { ApiError } from './api-error.js';

export class UnknownPathError extends ApiError {
  constructor() {
    super(
      40400,
      'There is nothing at this path. The one operation is POST /plants below the base URL, exactly so written.',
    );
  }
}
