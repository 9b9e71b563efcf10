import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ApiError } from '../errors/api-error.js';
import { type ErrorStatus, statusOf } from '../errors/error-catalogue.js';

/** Where a request keeps who makes it. Not `user`, which the guards of a host may set to anything. */
export const PRINCIPAL = Symbol('plant-store:principal');

/** A request as the platform of the application gives it: Express' is Node's own, Fastify's has Node's as `raw`. */
export type PlatformRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  readonly [PRINCIPAL]?: { readonly name: string };
  body?: unknown;
  /** What the body was parsed from, where the application was created with `rawBody: true`. */
  rawBody?: unknown;
};

/** A response as the platform of the application gives it. */
export type PlatformResponse = ServerResponse | FastifyReply;

/** The part of Fastify's reply in use. It has to send the answer itself: its hooks and headers belong to the application. */
interface FastifyReply {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): this;
  headers(values: OutgoingHttpHeaders): this;
  hasHeader(name: string): boolean;
  getHeader(name: string): unknown;
  send(body: Buffer): unknown;
}

export function nodeRequest(request: PlatformRequest): IncomingMessage {
  return 'raw' in request ? request.raw : request;
}

export function nodeResponse(response: PlatformResponse): ServerResponse {
  return 'raw' in response ? response.raw : response;
}

/** A span as others name it. Not OpenTelemetry's own type: an application that has none reads these declarations too. */
export interface SpanReference {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** What is known of a request, for those who observe it. */
interface RequestNotes {
  requestId: string | undefined;
  /** Number of the catalogue that it was answered with; 0 for any answer that is no failure. */
  error: number;
  /** The plant that it is about, where that could be read. */
  plantId: bigint | undefined;
  /** Our own span; none where nobody traces, and in a host, which has its own. */
  span: SpanReference | undefined;
}

/** A symbol, since the other keys of a response are the platform's. */
const NOTES = Symbol('plant-store:notes');

export function notesOf(reply: PlatformResponse): RequestNotes {
  const response = nodeResponse(reply) as { [NOTES]?: RequestNotes | undefined };
  return (response[NOTES] ??= { requestId: undefined, error: 0, plantId: undefined, span: undefined });
}

/** What the public listener calls for each request: metrics, the access log and traces. What it throws is logged, and no more. */
export interface RequestObserver {
  /** The headers of a request were read; nothing is done with it yet. */
  begin?(request: IncomingMessage, response: ServerResponse): void;
  /**
   * An answer is sent now. A request whose connection broke before is answered all the same, to nobody.
   *
   * @param durationMs from the arrival of the headers until the answer was ready
   */
  answered?(response: ServerResponse, durationMs: number): void;
}

export const REQUEST_ID_HEADER = 'X-Request-Id';
const ACCEPTED_ID = /^[\w.:-]{1,128}$/;

/** The id of a request: the one that the application has set, or the client's own `X-Request-Id` if it is a plain word, or a new one. */
export function requestIdOf(reply: PlatformResponse): string {
  return (notesOf(reply).requestId ??= hostsId(reply) ?? clientsId(nodeResponse(reply).req) ?? randomUUID());
}

function hostsId(reply: PlatformResponse): string | undefined {
  const id = reply.getHeader(REQUEST_ID_HEADER) as number | string | string[] | undefined;
  return (Array.isArray(id) ? id[0] : id)?.toString();
}

function clientsId({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && ACCEPTED_ID.test(id) ? id : undefined;
}

/** `traceparent` of W3C Trace Context: later versions may add fields, and zeros alone are no id. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?<id>(?!0{32})[\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/** The id of the trace that a request belongs to: of our own span, or else the client's. */
export function traceIdOf(response: ServerResponse): string | undefined {
  const own = notesOf(response).span?.traceId;
  const { traceparent } = response.req.headers;
  if (own !== undefined || typeof traceparent !== 'string') return own;
  return TRACEPARENT.exec(traceparent)?.groups?.id;
}

/** No answer is for a cache, or to be taken for anything but JSON. */
const ANSWER_HEADERS = {
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

/**
 * Answers with JSON, byte for byte the same on every platform. Does nothing where an answer was sent already, for example by a
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

/** Every value that the client sent for a header, in order. `request.headers` hides repetitions: it drops or joins them. */
export function headerValues(request: IncomingMessage, lowerCaseName: string): string[] {
  const { rawHeaders } = request;
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    // The length first: it spares most names the conversion.
    if (name?.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) {
      values.push(rawHeaders[i + 1] ?? '');
    }
  }
  return values;
}
