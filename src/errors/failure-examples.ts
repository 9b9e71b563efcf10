import type { ApiResponseExamples } from '@nestjs/swagger';
import type { ApiError } from './api-error.js';
import { ERROR_CATALOGUE } from './error-catalogue.js';

/** These failures as they stand in the answer, for the examples of an OpenAPI response: by number. */
export function failureExamples(...failures: ApiError[]): Record<string, ApiResponseExamples> {
  return Object.fromEntries(
    failures.map(({ error, message }) => [
      error,
      { summary: `${error}: ${ERROR_CATALOGUE[error].meaning}`, value: { error, message } },
    ]),
  );
}
