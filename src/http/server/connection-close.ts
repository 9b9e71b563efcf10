import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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
