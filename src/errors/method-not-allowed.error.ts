import { ApiError } from './api-error.js';

export class MethodNotAllowedError extends ApiError {
  /** @param allowed the one method that is offered */
  constructor(allowed: string) {
    super(40500, `This method is not offered here. The only one that is: ${allowed}.`, { headers: { Allow: allowed } });
  }
}
