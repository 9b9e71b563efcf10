import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { type ApiError, bodyTooLarge, malformedRequest, overloaded, tooManyChunks } from '../errors/api-error.js';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** The service itself takes some 64 MiB. Without a container limit Node.js reports 0 or a huge number. */
const memory = Math.min(getHeapStatistics().heap_size_limit - 64 * MEBIBYTE, process.constrainedMemory() || Infinity);
/** The memory of all bodies together. An eighth, because a body is copied several times until its plant is stored. */
export const MAX_BODIES_BYTES = Math.max(MEBIBYTE, Math.min(256 * MEBIBYTE, Math.floor(memory / 8)));
/** Smaller bodies are not counted: all requests that can wait take little memory. */
export const MIN_COUNTED_BYTES = 16 * KIBIBYTE;

/** Each chunk takes time. So many chunks of one byte take some 50 ms. */
const MAX_CHUNKS = 10_000;

/** The connection ends if the discarded body is longer or takes more time. */
const MAX_DISCARDED_BYTES = 64 * MEBIBYTE;
const MAX_DISCARD_MS = 5000;

/**
 * Reads a body from the raw stream. It fails as soon as the body has more than `limit` bytes.
 *
 * @throws ApiError 41300 if the body is too large or has too many chunks, 50301 if all bodies together are too large,
 * 40010 or 40800 if the rest will not arrive
 */
export async function readBytes(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer> {
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > limit) throw bodyTooLarge(limit);
  if (awaitingContinue.delete(request)) response.writeContinue();
  // Most bodies are small and arrive together with the headers.
  if (length > 0 && length < MIN_COUNTED_BYTES && request.readableLength === length && !request.destroyed) {
    const bytes = request.read() as Buffer;
    // Without this the stream never ends, and the connection carries no other request.
    request.resume();
    return bytes;
  }
  return receive(request, new BodyBuffer(request, response, limit), maxChunks(request, limit));
}

/**
 * Discards the rest of a refused request, so that its connection can carry the answer and the next request. Returns
 * false if nothing more will arrive, or if the connection has to end at once.
 */
export function discardBody(request: IncomingMessage): boolean {
  // A host's test may use a fake request without `complete`.
  if (request.complete || request.readableEnded || request.destroyed || withTooManyChunks.has(request)) return false;
  const { socket } = request;
  const destroy = (): unknown => request.destroy();
  const timer = setTimeout(destroy, MAX_DISCARD_MS);
  const settle = (): void => {
    clearTimeout(timer);
    socket.off('close', settle);
  };
  // After the answer, Node does not close the request when its connection is lost.
  socket.once('close', settle);
  let [bytes, chunks] = [0, 0];
  request.once('end', settle).on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    chunks += 1;
    if (bytes > MAX_DISCARDED_BYTES || chunks > maxChunks(request, bytes)) destroy();
  });
  return true;
}

const awaitingContinue = new WeakSet<IncomingMessage>();

/** Keeps the answer to `Expect: 100-continue` for the reader of the body, which comes after the guard. */
export function deferContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

const ABORTED = Symbol('request aborted');
const failures = new WeakMap<IncomingMessage, ApiError>();

/** Tells the reader of the body that the rest will not arrive. */
export function abortRequest(request: IncomingMessage, failure: ApiError): void {
  failures.set(request, failure);
  request.emit(ABORTED);
}

/** Requests whose bodies had too many chunks. */
const withTooManyChunks = new WeakSet<IncomingMessage>();

function receive(request: IncomingMessage, body: BodyBuffer, chunkLimit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The abort may have come before. Its event does not come again.
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
          withTooManyChunks.add(request);
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
 * The most chunks that a body of this size may have. The network cuts large chunks into pieces of more than 1 KiB, and
 * these count too. A body with a Content-Length has no chunks of the client.
 */
function maxChunks(request: IncomingMessage, bytes: number): number {
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  return isChunked ? MAX_CHUNKS + Math.floor(bytes / KIBIBYTE) : Infinity;
}

/** The sum of all counted bodies in this process. */
let allBytes = 0;

/**
 * Copies each chunk as it arrives. In a list, a chunk of one byte would keep the whole buffer that it was read into.
 */
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

  /** Counts this body until its request is answered or its connection is lost. A single body is always accepted. */
  private count(bytes: number): void {
    const others = allBytes - this.counted;
    if (others > 0 && others + bytes > MAX_BODIES_BYTES) throw overloaded();
    if (this.counted === 0) {
      // A pipelined answer that never got its turn emits no `close` event.
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
