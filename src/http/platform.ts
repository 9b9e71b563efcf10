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
  getHeader(name: string): unknown;
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
