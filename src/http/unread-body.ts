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
  const undecided = awaitingContinue.has(request) && !response.writableEnded;
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

const awaitingContinue = new WeakSet<IncomingMessage>();

/** Leaves it to whoever reads the body to answer a request's `Expect: 100-continue`. Other servers answer it by themselves. */
export function deferContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/** Tells a client that waits for permission to send the body that it may. */
export function acceptBody(request: IncomingMessage, response: ServerResponse): void {
  if (awaitingContinue.delete(request)) response.writeContinue();
}
