import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLingering } from './connection-close.js';
import { countSmallChunks, expectsSmallChunks, takeTurn, watchChunks } from './small-chunks.js';

interface Connection {
  /** The response to the last request that was parsed. Answers go out in order, so this one comes after all others. */
  last: ServerResponse | undefined;
  /** Requests that were parsed. */
  parsed: number;
  /** Of these, the ones that wait until the connection is free for their answers. */
  waiting: number;
  /** When reading went on, in milliseconds of `performance.now()`; -Infinity until it first paused. */
  resumedAt: number;
  /** Whether the body of the last request comes in small chunks. */
  hasSmallChunks: boolean;
}

const connections = new WeakMap<Socket, Connection>();
/** The connections that Node reads by itself. */
const unwatched = new Map<Socket, Connection>();
/** The connections that end with the last request that was parsed. */
const ending = new WeakSet<Socket>();

/** Knows the connections of a server. */
export function watchConnections(server: Server): void {
  server.on('connection', (socket) => {
    const connection = { last: undefined, parsed: 0, waiting: 0, resumedAt: -Infinity, hasSmallChunks: false };
    connections.set(socket, connection);
    unwatched.set(socket, connection);
    socket.once('close', () => unwatched.delete(socket));
    if (expectsSmallChunks()) takeOver(socket, connection);
  });
}

export function lastResponse(socket: Socket): ServerResponse | undefined {
  return connections.get(socket)?.last;
}

/** From now on nothing is read behind the last request: a client that goes on sending would keep the connection for ever. */
export function endWithLast(socket: Socket): void {
  ending.add(socket);
}

/** The number, on its connection, of the request that has not arrived in full; it may not have begun. */
export function arrivingNumber(socket: Socket): number {
  const { last, parsed = 0 } = connections.get(socket) ?? {};
  return last?.req.complete === false ? parsed : parsed + 1;
}

/** Milliseconds for which the connection has been read without a pause: 0 while it is not read. */
export function readingMs(socket: Socket): number {
  const { waiting = 0, resumedAt = -Infinity } = connections.get(socket) ?? {};
  return waiting > 0 ? 0 : performance.now() - resumedAt;
}

/** Bytes that are parsed before it is looked whether a request waits, or small chunks have used up their share. */
const SLICE_BYTES = 1024;
/** Requests of all connections that may wait, at some 2 KB each: beyond it, a connection with more than a few of them is closed. */
const MAX_WAITING = 20_000;
const FEW_WAITING = 10;
let allWaiting = 0;

/** The connections that have begun a request in this turn of the event loop. */
const begun = new Set<Socket>();

/**
 * Begins a request when the one before it on its connection is answered, and reads nothing more until then. A request never
 * begins if its connection ends before.
 */
export function inTurn(response: ServerResponse, begin: () => void): void {
  const { socket, headers } = response.req;
  const connection = connections.get(socket);
  if (!connection) throw new Error('The connections of this server are not watched.');
  connection.last = response;
  connection.parsed += 1;
  connection.hasSmallChunks = false;
  if (headers['transfer-encoding'] !== undefined) {
    watchChunks(response.req, () => {
      connection.hasSmallChunks = true;
      // Not this one alone: what Node reads by itself, 10,000 chunks at a time, could come on all at once.
      for (const one of unwatched) takeOver(...one);
    });
  }
  // Node gives all others a turn only when it has parsed what it has read: thousands of requests that may be answered by then.
  if (response.socket && !begun.has(socket)) {
    start(socket, begin);
    return;
  }
  takeOver(socket, connection);
  connection.waiting += 1;
  allWaiting += 1;
  if (allWaiting > MAX_WAITING && connection.waiting > FEW_WAITING) socket.destroy();
  const startNext = (): void => {
    setImmediate(() => {
      if (socket.destroyed) return;
      connection.waiting -= 1;
      allWaiting -= 1;
      start(socket, begin);
      if (connection.waiting > 0 || (ending.has(socket) && connection.last?.req.complete)) return;
      connection.resumedAt = performance.now();
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

/** Node's parser reads the connection by itself, 64 KiB at a time, and cannot be stopped between two requests. Here it can. */
function takeOver(socket: Socket, connection: Connection): void {
  const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  if (!unwatched.delete(socket) || !parse || isLingering(socket)) return;
  socket.once('close', () => {
    allWaiting -= connection.waiting;
    connection.waiting = 0;
  });
  socket.on('data', (bytes: Buffer) => {
    let next = 0;
    // A request pauses the connection too while its body is not read.
    while (next < bytes.length && connection.waiting === 0 && !socket.isPaused()) {
      if (socket.destroyed || isLingering(socket)) return;
      if (connection.hasSmallChunks && !takeTurn(socket)) break;
      const begunAt = performance.now();
      parse(bytes.subarray(next, (next += SLICE_BYTES)));
      if (connection.hasSmallChunks) countSmallChunks(begunAt);
    }
    if (connection.waiting > 0) socket.pause();
    if (next < bytes.length) socket.unshift(bytes.subarray(next));
  });
  socket.off('data', parse);
  // The parser may have stopped reading without the knowledge of the stream, which would wait for ever: this ends its wait.
  socket.push(Buffer.alloc(0));
}
