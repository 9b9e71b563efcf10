import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const ACCEPTABLE = /^[\w.:-]{1,128}$/;
const ids = new WeakMap<IncomingMessage, string>();

/** The id under which the log speaks of a request: the client's own `X-Request-Id` where it is a plain word, else a new one. */
export function requestId(request: IncomingMessage): string {
  const known = ids.get(request);
  if (known !== undefined) return known;
  const sent = request.headers['x-request-id'];
  const id = typeof sent === 'string' && ACCEPTABLE.test(sent) ? sent : randomUUID();
  ids.set(request, id);
  return id;
}
