import { type PlatformResponse, sendJson } from '../http/platform.js';
import type { ApiError } from '../errors/api-error.js';
import { type ErrorStatus, statusOf } from '../errors/error-catalogue.js';

/** Writes the one shape that every failure has: `{"error": <int32>, "message": <string>}`. */
export function sendError(response: PlatformResponse, failure: ApiError, errorStatus: ErrorStatus): void {
  const { error, message, headers } = failure;
  sendJson(response, statusOf(error, errorStatus), { error, message }, headers);
}
