import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';

/** A request as the platform of the application gives it: Express' is Node's own, Fastify's has Node's as `raw`. */
export type PlatformRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  body?: unknown;
  /** What the body was parsed from, where the application was created with `rawBody: true`. */
  rawBody?: unknown;
};

/** What is used of Fastify's reply, which has to send the answer itself: its hooks and headers belong to the application. */
interface FastifyReply {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): this;
  headers(values: OutgoingHttpHeaders): this;
  send(body: Buffer): unknown;
}

/** A response as the platform of the application gives it. */
export type PlatformResponse = ServerResponse | FastifyReply;

export function nodeRequest(request: PlatformRequest): IncomingMessage {
  return 'raw' in request ? request.raw : request;
}

export function nodeResponse(response: PlatformResponse): ServerResponse {
  return 'raw' in response ? response.raw : response;
}

/**
 * Answers with JSON, byte for byte the same on every platform. Does nothing where an answer was sent already, by an
 * interceptor of a host that would not wait any longer, for example.
 */
export function sendJson(
  response: PlatformResponse,
  status: number,
  value: object,
  headers: OutgoingHttpHeaders = {},
): void {
  if ('raw' in response ? response.sent : response.headersSent) return;
  const body = JSON.stringify(value);
  const fields = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers };
  // Bytes to Fastify, which may take a string for something to serialize. A string to Node, which writes it and the headers
  // as one; bytes it would write apart.
  if ('raw' in response) response.code(status).headers(fields).send(Buffer.from(body));
  else response.writeHead(status, fields).end(body);
}

/**
 * Every value that the client sent for a header, in order. `request.headers` keeps the first of some repeated headers
 * and joins others, and so hides that they were repeated.
 */
export function headerValues(request: IncomingMessage, lowerCaseName: string): string[] {
  const { rawHeaders } = request;
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName)
      values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
}

const ACCEPTABLE = /^[\w.:-]{1,128}$/;
const ids = new WeakMap<IncomingMessage, string>();

/** The id under which the log speaks of a request: the client's own `X-Request-Id` where it is a plain word, else a new one. */
export function requestId(request: IncomingMessage): string {
  const known = ids.get(request);
  if (known !== undefined) return known;
  const sent = request.headers['x-request-id'];
  const id = typeof sent === 'string' && ACCEPTABLE.test(sent) ? sent : randomUUID();
  ids.set(request, id);
  return id;
}
