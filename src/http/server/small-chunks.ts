import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** So many chunks in a row are small if they have fewer bytes than this each, on average: reading them takes longer than using them. */
const WINDOW_CHUNKS = 64;
const SMALL_CHUNK_BYTES = 128;

/** Calls back, perhaps many times, when the body of a request comes in small chunks, even if it is not read. */
export function watchChunks(request: IncomingMessage, onSmall: () => void): void {
  let chunks = 0;
  let bytes = 0;
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null) => {
    bytes += chunk?.length ?? 0;
    chunks += 1;
    if (chunks === WINDOW_CHUNKS) {
      if (bytes < WINDOW_CHUNKS * SMALL_CHUNK_BYTES) onSmall();
      chunks = bytes = 0;
    }
    return push(chunk);
  };
}

/** The part of the time that all bodies in small chunks may take together. */
const SHARE = 0.25;
/** Milliseconds that they may take at a time: every other request may have to wait as long. */
const TURN_MS = 2;
/** After this time without such a body, no more are expected. */
const QUIET_MS = 10_000;

/** They have used up their share until this moment, in milliseconds of `performance.now()`. */
let spentUntil = -Infinity;
/** The connections that wait for their turn, in its order. */
const waiting = new Set<Socket>();
let timer: NodeJS.Timeout | undefined;

/** Whether bodies in small chunks have arrived recently. */
export function expectsSmallChunks(): boolean {
  return performance.now() - spentUntil < QUIET_MS;
}

/** Counts the time since then as spent on small chunks. */
export function countSmallChunks(since: number): void {
  const now = performance.now();
  spentUntil = Math.max(spentUntil, since) + (now - since) / SHARE;
}

/** Whether a connection with small chunks may be read now. If not, it is paused until its turn comes. */
export function takeTurn(socket: Socket): boolean {
  const isSpent = spentUntil - performance.now() > TURN_MS / SHARE;
  if (!isSpent && !waiting.has(socket)) return true;
  waiting.add(socket);
  socket.pause();
  timer ??= setTimeout(startNext);
  return false;
}

function startNext(): void {
  const left = spentUntil - performance.now();
  for (const socket of waiting) {
    if (left > 0 && !socket.destroyed) break;
    waiting.delete(socket);
    if (socket.destroyed) continue;
    socket.resume();
    break;
  }
  timer = waiting.size > 0 ? setTimeout(startNext, left) : undefined;
}
