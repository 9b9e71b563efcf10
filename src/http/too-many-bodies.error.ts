import { ApiError } from '../errors/api-error.js';
import { RETRY_LATER } from '../errors/retry-later.js';

/** The requests under way hold so much that one more might take all of the memory. */
export class TooManyBodiesError extends ApiError {
  constructor() {
    const message =
      'The service holds as many large bodies as it can. Nothing was written; send the request again later.';
    super(50301, message, { headers: RETRY_LATER });
  }
}
