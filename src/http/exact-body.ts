import type { IncomingMessage } from 'node:http';
import { readJsonObject } from './read-body.js';
import { revealMediaType } from './hidden-media-type.js';
import type { JsonObject } from './json-value.js';
import { nodeRequest, nodeResponse } from './platform.js';
import type { Exchange } from './sealed-exchange.decorator.js';

const BODY = Symbol('exact body');

/** At the request itself: an entry in a WeakMap for each request is work for every garbage collection. */
type ReadRequest = IncomingMessage & { [BODY]?: Promise<JsonObject> | undefined };

/** The body of a request, read once for all who ask. It stands at the request too, as a parser would have left it. */
export function exactBody({ request, response }: Exchange, limit: number): Promise<JsonObject> {
  const received: ReadRequest = nodeRequest(request);
  return (received[BODY] ??= read({ request, response }, limit));
}

async function read({ request, response }: Exchange, limit: number): Promise<JsonObject> {
  revealMediaType(nodeRequest(request));
  const body = await readJsonObject(request, nodeResponse(response), limit);
  request.body = body;
  return body;
}
