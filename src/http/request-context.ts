import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** A request of Express, which is Node's own, or of Fastify, which has it as `raw`. */
export type PlatformRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  /** The bytes of the body. Nest keeps them if the application was created with `rawBody: true`. */
  rawBody?: unknown;
};

export type PlatformResponse = ServerResponse | FastifyReply;

/** The part of a Fastify reply that the store uses. Only the reply may send: its hooks and headers are the host's. */
interface FastifyReply {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): this;
  headers(values: OutgoingHttpHeaders): this;
  hasHeader(name: string): boolean;
  getHeader(name: string): number | string | string[] | undefined;
  send(body: Buffer): unknown;
}

export function nodeRequest(request: PlatformRequest): IncomingMessage {
  return 'raw' in request ? request.raw : request;
}

export function nodeResponse(response: PlatformResponse): ServerResponse {
  return 'raw' in response ? response.raw : response;
}

/** All values of a header, in order. `request.headers` hides repetitions: it drops or joins them. */
export function headerValues(request: IncomingMessage, lowerCaseName: string): string[] {
  const { rawHeaders } = request;
  // Serverless adapters leave the raw headers empty.
  if (rawHeaders.length === 0) return [request.headers[lowerCaseName] ?? []].flat();
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    // Comparing the length first is faster: most names need no conversion.
    if (name?.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) {
      values.push(rawHeaders[i + 1] ?? '');
    }
  }
  return values;
}

const SCHEME_AND_HOST = /^[^/?]*:\/\/[^/?]*/;

/** The path of a request. A query, or a user before the host, may hold a secret. */
export function pathOf(request: { readonly originalUrl?: string; readonly url?: string | undefined }): string {
  // Express shortens `url` below a prefix. It is empty if the request could not be read.
  const [path = ''] = (request.originalUrl ?? request.url ?? '').replace(SCHEME_AND_HOST, '').split('?', 1);
  return path;
}

/** What the log and the metrics need of a request. */
interface RequestContext {
  requestId: string | undefined;
  /** The error number of the answer; 0 for success. */
  error: number;
  /** The message of the failure. */
  message: string | undefined;
  /** Whose token it carries, once that was verified. */
  principal: Readonly<{ name: string; scopes: readonly string[] }> | undefined;
  /** The id of the plant, once it was read. */
  plantId: bigint | undefined;
  /** The client sends its body after `100 Continue`, which comes after the guard. */
  awaitsContinue: boolean;
}

/** A symbol cannot collide with the properties of the platform. */
const CONTEXT = Symbol.for('plant-store:request-context');

export function requestContext(response: PlatformResponse): RequestContext {
  const carrier = nodeResponse(response) as { [CONTEXT]?: RequestContext | undefined };
  return (carrier[CONTEXT] ??= {
    requestId: undefined,
    error: 0,
    message: undefined,
    principal: undefined,
    plantId: undefined,
    awaitsContinue: false,
  });
}

/** What the public listener calls for each answer: the metrics, the access log and, during a stop, the shutdown. */
export interface ResponseHook {
  /**
   * Called before the head of an answer is sent, even if its connection is lost. It may change the head, and must not
   * throw.
   *
   * @param durationMs from the arrival of the headers until the answer was ready
   */
  beforeHead(response: ServerResponse, durationMs: number): void;
}

export const REQUEST_ID_HEADER = 'X-Request-Id';
const ACCEPTED_ID = /^[\w.:-]{1,128}$/;

/** The id of the request: the one set by the host, or a plain `X-Request-Id` of the client, or a new one. */
export function requestIdOf(response: PlatformResponse): string {
  return (requestContext(response).requestId ??=
    response.getHeader(REQUEST_ID_HEADER)?.toString() ?? clientRequestId(nodeResponse(response).req) ?? randomUUID());
}

function clientRequestId({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && ACCEPTED_ID.test(id) ? id : undefined;
}
