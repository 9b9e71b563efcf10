import { Logger } from '@nestjs/common';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestTimeout } from '../../errors/api-error.js';
import type { AcceptFirst } from './accept-first.js';
import { isLingering, lingerOnClose } from './connection-close.js';
import { endWithLast, lastResponse } from './pipelining.js';

export interface CloseTimes {
  /** Milliseconds to go on accepting connections: a load balancer notices only after a while that the service stops. */
  drainDelay: number;
  /** Milliseconds for the whole stop, with the drain delay. */
  shutdownTimeout: number;
  /** Milliseconds that a request may wait for the storage: one that has not arrived in full by then would be too late. */
  storageTimeout: number;
}

/** How long an idle connection may still send a request. */
const GRACE_MS = 2000;
const SWEEP_MS = 50;
/** The listener closes once no connection has come for this long; if they come without a pause it closes all the same. */
const QUIET_MS = 200;
const MAX_QUIET_WAIT_MS = 1000;

/** Ends an HTTP server without leaving a request unanswered, as far as the time allows. */
export class GracefulClose {
  private readonly logger = new Logger(GracefulClose.name);
  private readonly connections = new Set<Socket>();
  private closing = false;

  constructor(
    private readonly server: Server,
    private readonly acceptFirst: AcceptFirst,
    private readonly times: CloseTimes,
  ) {
    server.on('connection', (socket) => {
      this.connections.add(socket);
      socket.once('close', () => this.connections.delete(socket));
    });
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const { drainDelay, shutdownTimeout, storageTimeout } = this.times;
    const end = performance.now() + shutdownTimeout;
    const left = (): number => Math.max(0, end - performance.now());
    const quiet = this.connections.size > 0 || drainDelay > 0 ? QUIET_MS : 0;
    // If the listener closes at once it does so first: a client whose connection ends may open another.
    if (drainDelay > 0 || !this.acceptFirst.isQuiet(quiet)) this.endConnections();
    if (drainDelay > 0) await sleep(drainDelay);
    const closed = new Promise((resolve) => this.server.once('close', resolve));
    // The system resets the connections that the listener has not accepted when it closes.
    await this.acceptFirst.whenQuiet(quiet, Math.min(MAX_QUIET_WAIT_MS, left()), () => {
      // Not HTTP's own close() yet: it stops the check that ends the requests that never arrive in full.
      NetServer.prototype.close.call(this.server);
      this.endConnections();
    });

    const graceEnd = performance.now() + Math.min(GRACE_MS, left() / 2);
    const sweep = setInterval(() => {
      if (performance.now() < graceEnd) return;
      this.endIdle();
      if (left() < storageTimeout) this.refuseUnfinished();
    }, SWEEP_MS);
    const deadline = setTimeout(() => {
      this.logger.warn(
        `${this.connections.size} connections were still open after ${shutdownTimeout} ms, and are cut off`,
      );
      for (const socket of this.connections) socket.destroy();
    }, left());
    await closed;
    clearInterval(sweep);
    clearTimeout(deadline);
    this.server.close();
  }

  /** From now on each answer ends its connection. */
  private endConnections(): void {
    if (this.closing) return;
    this.closing = true;
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      this.server.prependListener(event, (_request: IncomingMessage, response: ServerResponse) => {
        endWith(response);
      });
    }
    for (const socket of this.connections) endWith(lastResponse(socket));
  }

  /** Closes our half of the connections on which no request has begun and every answer has arrived. */
  private endIdle(): void {
    for (const socket of this.connections) {
      // Node.js knows them, but destroys them: a request that arrives at that moment would be reset, and an answer cut off.
      socket.destroy = () => {
        if (!isLingering(socket) && (lastResponse(socket)?.writableFinished ?? true)) {
          lingerOnClose(socket);
          socket.destroySoon();
        }
        return socket;
      };
      // To Node.js, a connection that has not sent anything is in the middle of its first request.
      if (socket.bytesRead === 0) socket.destroy();
    }
    this.server.closeIdleConnections();
    for (const socket of this.connections) Reflect.deleteProperty(socket, 'destroy');
  }

  /** Answers the requests that have not arrived in full with 40800. */
  private refuseUnfinished(): void {
    for (const socket of this.connections) {
      const response = lastResponse(socket);
      const waits = response?.req.complete === true && !response.writableFinished;
      if (!waits) this.server.emit('clientError', requestTimeout(), socket);
    }
  }
}

/** Makes a response the last one of its connection, if its headers are not sent yet: the client sees `Connection: close`. */
function endWith(response: ServerResponse | undefined): void {
  if (!response?.shouldKeepAlive || response.headersSent || isLingering(response.req.socket)) return;
  const { socket } = response.req;
  endWithLast(socket);
  // Looked at when the headers are sent: of several requests that a client has sent in one go, only the last ends the connection.
  Object.defineProperty(response, 'shouldKeepAlive', {
    get: () => lastResponse(socket) !== response,
    set: () => undefined,
  });
  // Not at once: a request that the client has sent in the same go is still to be answered.
  socket.destroySoon = () => {
    lingerOnClose(socket);
    socket.destroySoon();
  };
}
