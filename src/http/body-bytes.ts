import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { type ApiError, bodyTooLarge, malformedRequest, tooManyBodies } from '../errors/api-error.js';
import { acceptBody, onRequestAbort } from './connection-close.js';

/**
 * Reads a request's body from its raw stream, and gives up as soon as it has more than `limit` bytes. Returns what `parse` makes of
 * it; the bytes do not outlive that.
 *
 * @throws tooManyBodies if the bodies of all requests in flight would be too large together
 */
export async function readBytes<Result>(
  request: IncomingMessage,
  response: ServerResponse,
  limit: number,
  parse: (bytes: Buffer) => Result,
): Promise<Result> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit);
  acceptBody(request, response);
  const received = new ReceivedBytes(new BodyMemory(request, response), limit);
  try {
    await collect(request, received);
    return parse(received.bytes());
  } finally {
    received.free();
  }
}

function collect(request: IncomingMessage, received: ReceivedBytes): Promise<void> {
  return new Promise((resolve, reject) => {
    // The event that reports it does not come a second time.
    if (request.destroyed) throw closedEarly();
    const settle = (failure?: Error): void => {
      request.off('data', onData).off('end', settle).off('close', onClose).off('error', onClose);
      if (failure) reject(failure);
      else resolve();
    };
    const onData = (chunk: Buffer): void => {
      try {
        received.add(chunk);
      } catch (failure) {
        settle(failure as Error);
      }
    };
    const onClose = (cause?: Error): void => {
      settle(closedEarly(cause));
    };
    request.on('data', onData).on('end', settle).on('close', onClose).on('error', onClose);
    onRequestAbort(request, settle);
  });
}

function closedEarly(cause?: Error): ApiError {
  return malformedRequest('The connection was closed before the whole body had arrived.', cause);
}

/**
 * Chunks in one buffer: a million chunks of one byte, each an object of its own, would take hundreds of times their size. A body
 * of one chunk is not copied. The memory of others is given back at once: else it would wait for a garbage collection, which an
 * idle process does not make.
 */
class ReceivedBytes {
  private buffer: Buffer = Buffer.alloc(0);
  private pages: ArrayBuffer | undefined;
  private length = 0;

  constructor(
    private readonly memory: BodyMemory,
    private readonly limit: number,
  ) {}

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.limit) throw bodyTooLarge(this.limit);
    if (length > this.buffer.length) {
      const capacity = Math.min(this.limit, Math.max(length, 2 * this.buffer.length));
      this.memory.hold(capacity);
      if (this.length > 0) {
        const received = this.bytes();
        this.pages ??= new ArrayBuffer(0, { maxByteLength: this.limit });
        this.pages.resize(capacity);
        this.buffer = Buffer.from(this.pages);
        received.copy(this.buffer);
      }
    }
    if (this.length === 0) this.buffer = chunk;
    else chunk.copy(this.buffer, this.length);
    this.length = length;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  free(): void {
    this.pages?.resize(0);
  }
}

const MEBIBYTE = 1024 * 1024;
/** Without the memory of the service itself, as measured. Node.js reports 0 or a huge number if a container has no limit. */
const memory = Math.min(getHeapStatistics().heap_size_limit - 64 * MEBIBYTE, process.constrainedMemory() || Infinity);
/** The memory of all bodies together: each is copied several times until its plant is stored. */
export const MAX_BODIES_BYTES = Math.max(MEBIBYTE, Math.min(256 * MEBIBYTE, Math.floor(memory / 8)));
/** A smaller body need not be counted: all that can wait take little. */
export const MIN_COUNTED_BYTES = 16 * 1024;

/** The memory of one body, counted from its first bytes until its request is answered or its connection is gone. */
export class BodyMemory {
  /** Of all bodies in this process. */
  static allBytes = 0;
  private bytes = 0;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
  ) {}

  /** @throws tooManyBodies if all bodies would be too large together, unless this is the only one */
  hold(bytes: number): void {
    if (bytes < MIN_COUNTED_BYTES || bytes <= this.bytes) return;
    const others = BodyMemory.allBytes - this.bytes;
    if (others > 0 && others + bytes > MAX_BODIES_BYTES) throw tooManyBodies();
    if (this.bytes === 0) {
      // An answer that never came to its connection, as others were before it, does not close.
      this.response.once('close', this.release);
      this.request.socket.once('close', this.release);
    }
    BodyMemory.allBytes = others + bytes;
    this.bytes = bytes;
  }

  private readonly release = (): void => {
    BodyMemory.allBytes -= this.bytes;
    this.bytes = 0;
    this.request.socket.off('close', this.release);
  };
}
