import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorNumberOf, plantIdOf, type PlatformRequest, PRINCIPAL, requestIdOf } from './platform.js';

/** What was answered to a request of the public listener. */
export interface Answer {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Number of the catalogue; 0 for any answer that is no failure. */
  readonly error: number;
  /** From the arrival of the headers until the answer was ready. */
  readonly durationMs: number;
  /** The name of the access token, where one was valid. */
  readonly principal: string | undefined;
  /** The plant that the request is about, where that could be read. */
  readonly plantId: bigint | undefined;
}

/** What the public listener calls for each request: metrics, the access log and traces. What it throws is logged, and no more. */
export interface RequestObserver {
  /** The headers of a request were read; nothing is done with it yet. */
  begin?: (request: IncomingMessage, response: ServerResponse) => void;
  /** An answer is sent now. A request whose connection broke before is answered all the same, to nobody. */
  answered?: (answer: Answer) => void;
}

/** @param arrivedAt when the headers of the request were read, in milliseconds of `performance.now()` */
export function describeAnswer(response: ServerResponse, arrivedAt: number): Answer {
  const request = response.req;
  return {
    request,
    response,
    requestId: requestIdOf(response),
    error: errorNumberOf(response),
    durationMs: performance.now() - arrivedAt,
    principal: (request as PlatformRequest)[PRINCIPAL]?.name,
    plantId: plantIdOf(response),
  };
}
