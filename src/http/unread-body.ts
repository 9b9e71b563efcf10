import type { IncomingMessage, ServerResponse } from 'node:http';

/** A refused body up to this size is read and thrown away, so that the connection can carry the next request. */
export const DRAIN_LIMIT = 8 * 1024 * 1024;
const LINGER_MS = 5000;

/**
 * Decides what becomes of the body of a request that is about to be refused: drained where that is cheap, else the
 * connection closes after the answer. Call it before the response headers are sent.
 */
export function discardBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  if (awaitsContinue(request) && !response.writableEnded && !continued.has(response)) {
    // The client still waits for permission to send. Whether it now sends the body is its choice, so only a new
    // connection tells where the next request begins.
    response.setHeader('Connection', 'close');
    return;
  }
  const tooLarge = Number(request.headers['content-length'] ?? 0) > DRAIN_LIMIT;
  if (tooLarge) {
    response.setHeader('Connection', 'close');
    lingerOnClose(request);
  }
  let left = DRAIN_LIMIT;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.socket.destroy();
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

/**
 * Closing a socket with unread data in it resets the connection, and a client that is still sending may then never see
 * the answer. So only our half is closed, and what still arrives is discarded for a while.
 */
function lingerOnClose({ socket }: IncomingMessage): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => {
      clearTimeout(timer);
    });
  };
}
