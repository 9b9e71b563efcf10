import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A media type that no parser takes, but for one that takes every media type, and that no client can know to send. */
export const UNPARSED = `application/vnd.plant-store.${randomUUID()}`;

const hidden = new WeakMap<IncomingMessage, string | undefined>();

/** Keeps every parser off a request's body, as parsers go by the media type. */
export function hideMediaType(request: IncomingMessage): void {
  if (hidden.has(request)) return;
  hidden.set(request, request.headers['content-type']);
  request.headers['content-type'] = UNPARSED;
}

/** Gives a request its media type back, where it was hidden. */
export function revealMediaType(request: IncomingMessage): void {
  if (!hidden.has(request)) return;
  const type = hidden.get(request);
  if (type === undefined) delete request.headers['content-type'];
  else request.headers['content-type'] = type;
  hidden.delete(request);
}
