import { ApiError } from './api.error.js';

export class UnknownPathError extends ApiError {
  constructor() {
    super(40400, 'There is nothing at this path. Plants are created with POST at /plants, exactly so written.');
  }
}
