import { ConsoleLogger, type Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { nodeResponse, type PlatformResponse } from './platform.js';

/** What the log and the metrics need of a request. */
interface RequestContext {
  requestId: string | undefined;
  /** The error number of the answer; 0 for success. */
  error: number;
  /** The message of the failure. */
  message: string | undefined;
  /** The name of the owner of its token, once that was verified. */
  token: string | undefined;
  /** The id of the plant, once it was read. */
  plantId: bigint | undefined;
}

/** A symbol cannot collide with the properties of the platform. */
const CONTEXT = Symbol.for('plant-store:request-context');

export function requestContext(response: PlatformResponse): RequestContext {
  const carrier = nodeResponse(response) as { [CONTEXT]?: RequestContext | undefined };
  return (carrier[CONTEXT] ??= {
    requestId: undefined,
    error: 0,
    message: undefined,
    token: undefined,
    plantId: undefined,
  });
}

/** What the public listener calls for each answer: the metrics, the access log and the graceful shutdown. */
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
    hostRequestId(response) ?? clientRequestId(nodeResponse(response).req) ?? randomUUID());
}

function hostRequestId(response: PlatformResponse): string | undefined {
  const id = response.getHeader(REQUEST_ID_HEADER) as number | string | string[] | undefined;
  return (Array.isArray(id) ? id[0] : id)?.toString();
}

function clientRequestId({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && ACCEPTED_ID.test(id) ? id : undefined;
}

/** Nest 12 has this method, and adds fields to a line. Nest 11 would print them as a line of their own. */
const LOGS_FIELDS = 'stringifyParams' in ConsoleLogger.prototype;

export function logWithFields(
  logger: Logger,
  level: 'log' | 'error',
  message: string,
  fields: object,
  ...others: unknown[]
): void {
  if (LOGS_FIELDS) logger[level](message, fields, ...others);
  else logger[level](`${message} ${inspect(fields, { breakLength: Infinity })}`, ...others);
}
