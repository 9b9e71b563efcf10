import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../errors/api-error.js';
import { type ErrorStatus, statusOf } from '../errors/error-catalogue.js';
import {
  nodeResponse,
  type PlatformResponse,
  REQUEST_ID_HEADER,
  requestContext,
  requestIdOf,
} from './request-context.js';

/** No cache may keep an answer, and a browser must read it as JSON only. */
const ANSWER_HEADERS = {
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

/** Sends the same JSON on every platform. It does nothing if a host has answered, by a timeout interceptor perhaps. */
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
  const { req: request } = nodeResponse(response);
  // Node.js discards what is left of a refused body, for REQUEST_TIMEOUT at most. Then the connection goes on.
  const isArriving = !request.complete && !request.readableEnded;
  if (isArriving) request.resume();
  // Fastify may serialize a string again, so it gets bytes. Node sends a string together with the headers in one write.
  if ('raw' in response) response.code(status).headers(fields).send(Buffer.from(body));
  else {
    response.writeHead(status, fields);
    // Node may end the connection by itself, as in HTTP/1.0.
    const endsConnection = headers.Connection !== undefined || !response.shouldKeepAlive;
    if (isArriving && endsConnection) endBehindRequest(response, body);
    else response.end(body);
  }
}

/** The system resets a connection that closes with unread bytes: so only our half closes until the request is there. */
function endBehindRequest(response: ServerResponse, body: string): void {
  response.write(body);
  // Node.js would send the head of an answer to HEAD only when the answer ends.
  response.flushHeaders();
  // Without a socket, answers before it are on their way.
  if (response.socket === null) response.once('socket', (socket: Socket) => setImmediate(() => socket.end()));
  else response.socket.end();
  response.req.once('end', () => response.end());
}

/** Answers with `{"error": <int32>, "message": <string>}`. Headers that the host has set stay. */
export function sendError(response: PlatformResponse, failure: ApiError, errorStatus: ErrorStatus): void {
  const { error, message } = failure;
  Object.assign(requestContext(response), { error, message });
  const headers = Object.entries(failure.headers).filter(
    ([name]) => !response.hasHeader(name) && !nodeResponse(response).hasHeader(name),
  );
  sendJson(response, statusOf(error, errorStatus), { error, message }, Object.fromEntries(headers));
}
