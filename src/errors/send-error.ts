import type { ServerResponse } from 'node:http';
import type { ApiError } from './api.error.js';
import { type ErrorStatus, statusOf } from './error-status.js';

/** Writes the one shape that every failure has: `{"error": <int32>, "message": <string>}`. */
export function sendError(response: ServerResponse, failure: ApiError, errorStatus: ErrorStatus): void {
  const body = Buffer.from(JSON.stringify({ error: failure.error, message: failure.message }));
  response.writeHead(statusOf(failure.error, errorStatus), {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    ...failure.headers,
  });
  response.end(body);
}
