import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLingering } from './connection-close.js';

/** A connection that has sent a request before the answer to the one before it. */
interface Pipeline {
  /** Requests that were parsed, and wait until the connection is free for their answers. */
  waiting: number;
  /** When reading went on, in milliseconds of `performance.now()`. */
  resumedAt: number;
}

const pipelines = new WeakMap<Socket, Pipeline>();

/** Bytes that are parsed before it is looked whether a request waits. */
const SLICE_BYTES = 1024;
/** Requests of all connections that may wait, at some 2 KB each: the connection of one more is closed. */
const MAX_WAITING = 20_000;
let allWaiting = 0;

/** The connections that have begun a request in this turn of the event loop. */
const begun = new Set<Socket>();

/**
 * Begins a request when the one before it on its connection is answered, and reads nothing more until then. A request whose
 * connection goes away meanwhile is never begun.
 */
export function inTurn(request: IncomingMessage, response: ServerResponse, begin: () => void): void {
  const { socket } = request;
  // Node gives all others a turn only when it has parsed what it has read: thousands of requests that may be answered by then.
  if (response.socket && !begun.has(socket)) {
    start(socket, begin);
    return;
  }
  const pipeline = pipelines.get(socket) ?? takeOver(socket);
  pipeline.waiting += 1;
  allWaiting += 1;
  if (allWaiting > MAX_WAITING) socket.destroy();
  const startNext = (): void => {
    setImmediate(() => {
      if (socket.destroyed) return;
      pipeline.waiting -= 1;
      allWaiting -= 1;
      start(socket, begin);
      if (pipeline.waiting > 0) return;
      pipeline.resumedAt = performance.now();
      socket.resume();
    });
  };
  if (response.socket) startNext();
  else response.once('socket', startNext);
}

function start(socket: Socket, begin: () => void): void {
  if (begun.size === 0) {
    setImmediate(() => {
      begun.clear();
    });
  }
  begun.add(socket);
  begin();
}

/** Milliseconds for which the connection has been read without a pause: 0 while it is not read. */
export function readingMs(socket: Socket): number {
  const pipeline = pipelines.get(socket);
  if (!pipeline) return Infinity;
  return pipeline.waiting > 0 ? 0 : performance.now() - pipeline.resumedAt;
}

/** Node's parser reads the connection by itself, 64 KiB at a time, and cannot be stopped between two requests. Here it can. */
function takeOver(socket: Socket): Pipeline {
  const pipeline: Pipeline = { waiting: 0, resumedAt: -Infinity };
  pipelines.set(socket, pipeline);
  socket.once('close', () => {
    allWaiting -= pipeline.waiting;
    pipeline.waiting = 0;
  });
  const [parse] = socket.listeners('data') as [(bytes: Buffer) => void];
  socket.on('data', (bytes: Buffer) => {
    let next = 0;
    // A request whose body is not taken pauses the connection too.
    while (next < bytes.length && pipeline.waiting === 0 && !socket.isPaused()) {
      if (socket.destroyed || isLingering(socket)) return;
      parse(bytes.subarray(next, (next += SLICE_BYTES)));
    }
    if (pipeline.waiting > 0) socket.pause();
    if (next < bytes.length) socket.unshift(bytes.subarray(next));
  });
  socket.off('data', parse);
  // The parser may have stopped reading without the knowledge of the stream, which would wait for ever: this ends its wait.
  socket.push(Buffer.alloc(0));
  return pipeline;
}
