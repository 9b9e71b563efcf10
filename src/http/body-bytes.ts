import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { type ApiError, bodyTooLarge, malformedRequest, overloaded, tooManyChunks } from '../errors/api-error.js';
import { http2Stream } from './platform.js';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** Without the memory of the service itself, as measured. Node.js reports 0 or a huge number if a container has no limit. */
const memory = Math.min(getHeapStatistics().heap_size_limit - 64 * MEBIBYTE, process.constrainedMemory() || Infinity);
/** The memory of all bodies together: each is copied several times until its plant is stored. */
export const MAX_BODIES_BYTES = Math.max(MEBIBYTE, Math.min(256 * MEBIBYTE, Math.floor(memory / 8)));
/** A smaller body need not be counted: all that can wait take little. */
export const MIN_COUNTED_BYTES = 16 * KIBIBYTE;

/** Chunks take time, however small they are: so many of one byte each take some 50 ms. */
const MAX_CHUNKS = 10_000;

/** A body that is discarded may be so long and take so much time. Then its connection ends. */
const MAX_DISCARDED_BYTES = 64 * MEBIBYTE;
const MAX_DISCARD_MS = 5000;

/**
 * Reads a request's body from its raw stream, and gives up as soon as it has more than `limit` bytes.
 *
 * @throws ApiError 41300 if it is too large or comes in too many chunks, 50301 if the bodies of all requests are too large together,
 * 40010 or 40800 if its rest will not arrive
 */
export async function readBytes(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer> {
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > limit) throw bodyTooLarge(limit);
  if (awaitingContinue.delete(request)) response.writeContinue();
  // Most bodies are small and arrive with their headers.
  if (length > 0 && length < MIN_COUNTED_BYTES && request.readableLength === length && !request.destroyed) {
    const bytes = request.read() as Buffer;
    // Else the stream would not end, and the connection would carry no other request.
    request.resume();
    return bytes;
  }
  return receive(request, new BodyBuffer(request, response, limit), maxChunks(request, limit));
}

/**
 * Discards what still arrives of a refused request, within bounds, so that its connection can carry the answer and the next
 * request. Returns false if nothing does, or if its connection has to end at once.
 */
export function discardBody(request: IncomingMessage): boolean {
  // What a test of a host makes in the place of a request has no `complete`.
  if (request.complete || request.readableEnded || request.destroyed || overrun.has(request)) return false;
  // Over HTTP/2 the connection belongs to other requests too.
  const stream = http2Stream(request);
  const cut = (): unknown => (stream ?? request).destroy();
  const connection = stream ?? request.socket;
  const timer = setTimeout(cut, MAX_DISCARD_MS);
  const settle = (): void => {
    clearTimeout(timer);
    connection.off('close', settle);
  };
  // Node does not close a request itself that is answered when its connection goes.
  connection.once('close', settle);
  let [bytes, chunks] = [0, 0];
  request.once('end', settle).on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    chunks += 1;
    if (bytes > MAX_DISCARDED_BYTES || chunks > maxChunks(request, bytes)) cut();
  });
  return true;
}

const awaitingContinue = new WeakSet<IncomingMessage>();

/** Leaves a request's `Expect: 100-continue` to the reader of the body. */
export function deferContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

const ABORTED = Symbol('request aborted');
const failures = new WeakMap<IncomingMessage, ApiError>();

/** Reports that the rest of a request will not arrive, to the reader of its body if there is one. */
export function abortRequest(request: IncomingMessage, failure: ApiError): void {
  failures.set(request, failure);
  request.emit(ABORTED);
}

/** The requests whose body has come in too many chunks. */
const overrun = new WeakSet<IncomingMessage>();

function receive(request: IncomingMessage, body: BodyBuffer, chunkLimit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The event that reports it does not come a second time.
    if (request.destroyed || failures.has(request)) throw closedEarly(request);
    let chunks = 0;
    const settle = (failure?: Error): void => {
      request.off('data', onData).off('end', settle).off('close', onClose).off('error', onClose).off(ABORTED, onClose);
      if (failure) reject(failure);
      else resolve(body.bytes());
    };
    const onData = (chunk: Buffer): void => {
      chunks += 1;
      try {
        if (chunks > chunkLimit) {
          overrun.add(request);
          throw tooManyChunks(chunkLimit);
        }
        body.add(chunk);
      } catch (failure) {
        settle(failure as Error);
      }
    };
    const onClose = (cause?: Error): void => {
      settle(closedEarly(request, cause));
    };
    request.on('data', onData).on('end', settle).on('close', onClose).on('error', onClose).on(ABORTED, onClose);
  });
}

function closedEarly(request: IncomingMessage, cause?: Error): ApiError {
  const message = 'The connection was closed before the whole body had arrived.';
  return failures.get(request) ?? malformedRequest(message, cause);
}

/**
 * The chunks in which a body of so many bytes may come. The network cuts large chunks into pieces of more than a KiB, so these are
 * allowed too. A body with a length has no chunks of the client's own.
 */
function maxChunks(request: IncomingMessage, bytes: number): number {
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  return isChunked ? MAX_CHUNKS + Math.floor(bytes / KIBIBYTE) : Infinity;
}

/** The bytes of all bodies in this process that are large enough to be counted. */
let allBytes = 0;

/** Bytes that are copied as they come: a list of chunks would keep, with a byte each, all the memory that they were read into. */
class BodyBuffer {
  private buffer = Buffer.alloc(0);
  private length = 0;
  private counted = 0;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly limit: number,
  ) {}

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.limit) throw bodyTooLarge(this.limit);
    if (length > this.buffer.length) this.grow(Math.min(this.limit, Math.max(length, 2 * this.buffer.length)));
    chunk.copy(this.buffer, this.length);
    this.length = length;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private grow(capacity: number): void {
    if (capacity >= MIN_COUNTED_BYTES) this.count(capacity);
    const received = this.bytes();
    this.buffer = Buffer.allocUnsafe(capacity);
    received.copy(this.buffer);
  }

  /** Counts this body until its request is answered or its connection is gone. The only one is accepted, however large. */
  private count(bytes: number): void {
    const others = allBytes - this.counted;
    if (others > 0 && others + bytes > MAX_BODIES_BYTES) throw overloaded();
    if (this.counted === 0) {
      // An answer that never came to its connection, as others were before it, does not close.
      this.response.once('close', this.release);
      this.request.socket.once('close', this.release);
    }
    allBytes = others + bytes;
    this.counted = bytes;
  }

  private readonly release = (): void => {
    allBytes -= this.counted;
    this.counted = 0;
    this.request.socket.off('close', this.release);
  };
}
