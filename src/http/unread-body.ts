import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLingering, lingerOnClose, whenSent } from './lingering-close.js';

/** A refused body up to this size is read and thrown away, so that the connection can carry the next request. */
const DRAIN_LIMIT = 8 * 1024 * 1024;

/**
 * Decides what becomes of the body of a request that is about to be refused: drained where that is cheap, else the
 * connection closes after the answer. Call it before the response headers are sent.
 */
export function discardBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  const { socket } = request;
  // Of a client that still waits for permission to send, only a new connection tells where the next request begins: whether
  // it now sends the body is its choice.
  const undecided = awaitsContinue(request) && !response.writableEnded && !continued.has(response);
  if (undecided || Number(request.headers['content-length'] ?? 0) > DRAIN_LIMIT) {
    response.setHeader('Connection', 'close');
    lingerOnClose(socket);
  } else if (!response.shouldKeepAlive) lingerOnClose(socket);

  let left = DRAIN_LIMIT;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left >= 0 || isLingering(socket)) return;
    lingerOnClose(socket);
    whenSent(response, () => {
      socket.destroySoon();
    });
  });
}

/** HTTP/1.0 knows no interim responses. */
function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1';
}

const continued = new WeakSet<ServerResponse>();

/** Answers `Expect: 100-continue`, where the client sent it. */
export function acceptBody(request: IncomingMessage, response: ServerResponse): void {
  if (!awaitsContinue(request)) return;
  continued.add(response);
  response.writeContinue();
}
