import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';

/** A port that is free on this machine, out of those that no system gives away by itself meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(Boolean, () => false);
    if (!isFree) continue;
    await once(server.close(), 'close');
    return port;
  }
}

/** Whether somebody listens on a port. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(Boolean, () => false);
  socket.destroy();
  return isOpen;
}

/** Where a server of this process listens. */
export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Ends a server with all of its connections, in the midst of an answer too. */
export async function endServer(server: HttpServer): Promise<void> {
  const closed = once(server.close(), 'close');
  server.closeAllConnections();
  await closed;
}
