import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { ApiError } from '../errors/api-error.js';
import { http2Stream } from './platform.js';

const LINGER_MS = 5000;
/** More than this is not discarded: the connection is reset. */
const MAX_LINGER_BYTES = 64 * 1024 * 1024;

const lingering = new WeakSet<Socket>();

/** Whether the connection ends with the answer in flight: later bytes are discarded. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Closing a socket with unread data in it resets the connection, and a client that is still sending may then never see the
 * answer. So, when HTTP closes this one, only our half is closed, and what still arrives is discarded for `LINGER_MS`. It is
 * not parsed: of a body in chunks of one byte, that takes a hundred times as long.
 */
export function lingerOnClose(socket: Socket): void {
  if (lingering.has(socket)) return;
  lingering.add(socket);
  let left = MAX_LINGER_BYTES;
  // The listeners of the parser. The empty chunk ends a pause that only the parser knows.
  socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
    left -= bytes.length;
    if (left < 0) socket.destroy();
  });
  socket.push(Buffer.alloc(0));
  socket.resume();
  socket.destroySoon = () => {
    if (socket.writableEnded) return;
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => {
      clearTimeout(timer);
    });
  };
}

/** Calls back when the connection is free of this response: only then can it carry another one, or end. */
export function whenSent(response: ServerResponse | undefined, callback: () => void): void {
  // A response still holds its socket for a while when all of it has been written.
  if (response && !(response.writableFinished && response.socket === null)) response.once('finish', callback);
  else callback();
}

/** A refused body up to this size is read and discarded, so that the connection can carry the next request. */
const MAX_DRAIN_BYTES = 8 * 1024 * 1024;
/** Chunks of such a body: each of them takes time, however small it is. */
const MAX_DRAIN_CHUNKS = 1000;

/**
 * Discards the body of a request that is about to be refused: it is drained if that is cheap, else the connection closes after
 * the answer. Call it before the response headers are sent.
 */
export function discardBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  const stream = http2Stream(request);
  if (stream) {
    lingerOnStream(request, stream);
    return;
  }
  const { socket } = request;
  // A client that still waits for permission may send the body or not: only a new connection shows where its next request begins.
  const undecided = awaitingContinue.has(request) && !response.writableEnded;
  if (undecided || Number(request.headers['content-length'] ?? 0) > MAX_DRAIN_BYTES) {
    response.setHeader('Connection', 'close');
    lingerOnClose(socket);
  } else if (!response.shouldKeepAlive) lingerOnClose(socket);

  let bytes = MAX_DRAIN_BYTES;
  let chunks = request.headers['transfer-encoding'] === undefined ? Infinity : MAX_DRAIN_CHUNKS;
  request.on('data', (chunk: Buffer) => {
    bytes -= chunk.length;
    chunks -= 1;
    if ((bytes >= 0 && chunks >= 0) || isLingering(socket)) return;
    lingerOnClose(socket);
    whenSent(response, () => {
      socket.destroySoon();
    });
  });
}

/** Over HTTP/2 a stream closes alone. While the end of the answer is on its way, that would take the answer back from some clients. */
function lingerOnStream(request: IncomingMessage, stream: ServerHttp2Stream): void {
  let left = MAX_LINGER_BYTES;
  request.on('data', (bytes: Buffer) => {
    left -= bytes.length;
    if (left < 0) stream.close();
  });
  stream.once('finish', () => {
    const timer = setTimeout(() => {
      stream.close();
    }, LINGER_MS);
    stream.once('close', () => {
      clearTimeout(timer);
    });
  });
}

const awaitingContinue = new WeakSet<IncomingMessage>();

/** Leaves a request's `Expect: 100-continue` to the reader of the body. */
export function deferContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/** Lets a client send the body, if it waits for permission. */
export function acceptBody(request: IncomingMessage, response: ServerResponse): void {
  if (awaitingContinue.delete(request)) response.writeContinue();
}

const ABORTED = Symbol('request aborted');
const failures = new WeakMap<IncomingMessage, ApiError>();

/** Reports that the rest of a request will not arrive. */
export function abortRequest(request: IncomingMessage, failure: ApiError): void {
  failures.set(request, failure);
  request.emit(ABORTED, failure);
}

/** Calls back when the rest of a request will not arrive: at once if that is known already. */
export function onRequestAbort(request: IncomingMessage, callback: (failure: ApiError) => void): void {
  const failure = failures.get(request);
  if (failure) callback(failure);
  else request.once(ABORTED, callback);
}
