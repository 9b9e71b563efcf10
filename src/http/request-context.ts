import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { nodeResponse, type PlatformResponse } from './platform.js';

/** What is known of a request, for those who observe it. */
interface RequestContext {
  requestId: string | undefined;
  /** Number of the catalogue that it was answered with; 0 for any answer that is no failure. */
  error: number;
  /** What that failure was answered with; undefined if it is none. */
  message: string | undefined;
  /** The plant that it is about, if that could be read. */
  plantId: bigint | undefined;
}

/** A symbol, since the other keys of a response are the platform's. */
const CONTEXT = Symbol('plant-store:request-context');

export function requestContext(reply: PlatformResponse): RequestContext {
  const response = nodeResponse(reply) as { [CONTEXT]?: RequestContext | undefined };
  return (response[CONTEXT] ??= { requestId: undefined, error: 0, message: undefined, plantId: undefined });
}

/** What the public listener calls for each request: metrics and the access log. It is given at the start. It must not throw. */
export interface RequestObserver {
  /**
   * An answer is sent now. A request whose connection broke before is answered all the same, though no client reads it.
   *
   * @param durationMs from the arrival of the headers until the answer was ready
   */
  answered(response: ServerResponse, durationMs: number): void;
}

export const REQUEST_ID_HEADER = 'X-Request-Id';
const ACCEPTED_ID = /^[\w.:-]{1,128}$/;

/** The id of a request: the one that the application has set, or the client's own `X-Request-Id` if it is a plain word, or a new one. */
export function requestIdOf(reply: PlatformResponse): string {
  return (requestContext(reply).requestId ??= hostsId(reply) ?? clientsId(nodeResponse(reply).req) ?? randomUUID());
}

function hostsId(reply: PlatformResponse): string | undefined {
  const id = reply.getHeader(REQUEST_ID_HEADER) as number | string | string[] | undefined;
  return (Array.isArray(id) ? id[0] : id)?.toString();
}

function clientsId({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && ACCEPTED_ID.test(id) ? id : undefined;
}
