import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

const SWEEP_MS = 50;
/** A timer takes a longer time for none. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Ends an HTTP server: requests under way are answered if that is possible in time, and nothing else holds it up. */
export class GracefulClose {
  private readonly sockets = new Set<Socket>();

  /** @param limit milliseconds to wait for the answers to requests under way */
  constructor(
    private readonly server: Server,
    private readonly limit: number,
  ) {
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  async close(): Promise<void> {
    // Not HTTP's own close() yet: it stops the check that ends the requests that never arrive in full.
    const closed = new Promise((resolve) => NetServer.prototype.close.call(this.server, resolve));
    this.closeIdle();
    const sweep = setInterval(() => {
      this.closeIdle();
    }, SWEEP_MS);
    const deadline = setTimeout(
      () => {
        for (const socket of this.sockets) socket.destroy();
      },
      Math.min(this.limit, LONGEST_TIMER),
    );
    await closed;
    clearInterval(sweep);
    clearTimeout(deadline);
    this.server.close();
  }

  private closeIdle(): void {
    this.server.closeIdleConnections();
    // To Node, a connection that has not said anything is in the middle of its first request.
    for (const socket of this.sockets) {
      if (socket.bytesRead === 0) socket.destroy();
    }
  }
}
