import type { OutgoingHttpHeaders } from 'node:http';
import type { ApiError } from '../errors/api-error.js';
import { type ErrorStatus, statusOf } from '../errors/error-catalogue.js';
import type { PlatformResponse } from './platform.js';
import { notesOf, REQUEST_ID_HEADER, requestIdOf } from './request-notes.js';

/** An answer must not be cached, and must be read as JSON only. */
const ANSWER_HEADERS = {
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

/**
 * Answers with JSON, byte for byte the same on every platform. Does nothing if an answer was sent already, for example by a
 * timeout interceptor of a host.
 */
export function sendJson(
  response: PlatformResponse,
  status: number,
  value: object,
  headers: OutgoingHttpHeaders = {},
): void {
  if ('raw' in response ? response.sent : response.headersSent) return;
  const body = JSON.stringify(value);
  const fields = {
    ...ANSWER_HEADERS,
    'Content-Length': Buffer.byteLength(body),
    [REQUEST_ID_HEADER]: requestIdOf(response),
    ...headers,
  };
  // Bytes for Fastify, which may serialize a string. A string for Node, which sends it in one write with the headers.
  if ('raw' in response) response.code(status).headers(fields).send(Buffer.from(body));
  else response.writeHead(status, fields).end(body);
}

/** Writes the one shape that every failure has: `{"error": <int32>, "message": <string>}`. */
export function sendError(response: PlatformResponse, failure: ApiError, errorStatus: ErrorStatus): void {
  const { error, message, headers } = failure;
  notesOf(response).error = error;
  sendJson(response, statusOf(error, errorStatus), { error, message }, headers);
}
