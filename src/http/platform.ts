import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';

/** Where a request keeps who makes it. Not `user`, which the guards of a host may set to anything. */
export const PRINCIPAL = Symbol('plant-store:principal');

/** A request as the platform of the application gives it: Express' is Node's own, Fastify's has Node's as `raw`. */
export type PlatformRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  readonly [PRINCIPAL]?: { readonly name: string };
  /** The bytes of the body, if the application was created with `rawBody: true`. */
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

/** The stream of a request over HTTP/2; undefined over HTTP/1. Its connection belongs to other requests too, and Node refuses to change it. */
export function http2Stream(request: IncomingMessage): ServerHttp2Stream | undefined {
  return request.httpVersionMajor === 2 ? (request as { stream?: ServerHttp2Stream }).stream : undefined;
}

/** Every value that the client sent for a header, in order. `request.headers` hides repetitions: it drops or joins them. */
export function headerValues(request: IncomingMessage, lowerCaseName: string): string[] {
  const { rawHeaders } = request;
  // A serverless adapter has them in no other form.
  if (rawHeaders.length === 0) return [request.headers[lowerCaseName] ?? []].flat();
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
