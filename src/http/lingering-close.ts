import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const LINGER_MS = 5000;

const lingering = new WeakSet<Socket>();

/** Whether the connection ends with the answer that is under way: whatever still arrives on it is to be thrown away. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Closing a socket with unread data in it resets the connection, and a client that is still sending may then never see
 * the answer. So, when HTTP comes to close this one, only our half is closed, and what still arrives is discarded for a while.
 */
export function lingerOnClose(socket: Socket): void {
  if (lingering.has(socket)) return;
  lingering.add(socket);
  let closing = false;
  socket.destroySoon = () => {
    if (closing) return;
    closing = true;
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
