import type { IncomingMessage } from 'node:http';
import { readJsonObject } from './body-reader.js';
import { revealMediaType } from './hidden-media-type.js';
import type { JsonObject } from './json-value.js';
import { nodeRequest, nodeResponse } from './platform.js';
import type { Exchange } from './sealed-exchange.decorator.js';

const bodies = new WeakMap<IncomingMessage, Promise<JsonObject>>();

/** The body of a request, read once for all who ask. It stands at the request too, as a parser would have left it. */
export function exactBody({ request, response }: Exchange, limit: number): Promise<JsonObject> {
  const received = nodeRequest(request);
  const known = bodies.get(received);
  if (known !== undefined) return known;
  const reading = read({ request, response }, limit);
  bodies.set(received, reading);
  return reading;
}

async function read({ request, response }: Exchange, limit: number): Promise<JsonObject> {
  revealMediaType(nodeRequest(request));
  const body = await readJsonObject(request, nodeResponse(response), limit);
  request.body = body;
  return body;
}
