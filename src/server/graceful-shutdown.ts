import { Logger } from '@nestjs/common';
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { requestTimeout } from '../errors/api-error.js';
import type { ResponseHook } from '../http/request-context.js';
import type { Environment } from '../config/environment.js';
import type { Connections } from './http-server.js';

/** How long an idle connection may still send a request. */
const GRACE_MS = 2000;
const SWEEP_MS = 50;
/** The listener closes when no connection came for this long, or after the longest wait. */
const QUIET_MS = 200;
const MAX_QUIET_WAIT_MS = 2000;

/** Closes an HTTP server and answers as many requests as the time allows. Node.js alone would reset connections. */
export class GracefulShutdown implements ResponseHook {
  private readonly logger = new Logger(GracefulShutdown.name);
  private newestConnectionAt = -Infinity;
  private isClosing = false;

  constructor(
    private readonly server: Server,
    private readonly connections: Connections,
    private readonly environment: Pick<Environment, 'DRAIN_DELAY' | 'SHUTDOWN_TIMEOUT' | 'STORAGE_TIMEOUT'>,
  ) {
    server.on('connection', () => {
      this.newestConnectionAt = performance.now();
    });
  }

  /** During the stop, answers say that their connection ends. If a client pipelines, only the last one says so. */
  beforeHead(response: ServerResponse): void {
    if (!this.isClosing) return;
    const connection = this.connections.get(response.req.socket);
    if (connection?.last !== response) return;
    connection.isEnding = true;
    response.shouldKeepAlive = false;
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const { DRAIN_DELAY, SHUTDOWN_TIMEOUT } = this.environment;
    const end = performance.now() + SHUTDOWN_TIMEOUT;
    // A load balancer notices the stop only after a while.
    this.isClosing = DRAIN_DELAY > 0;
    await sleep(DRAIN_DELAY);
    // Clients whose connection ends open another one. So no connection ends during this wait.
    this.isClosing = false;
    await this.noNewConnection(Math.min(end, performance.now() + MAX_QUIET_WAIT_MS));
    this.isClosing = true;
    const closed = once(this.server, 'close');
    // `close` of the HTTP server destroys idle connections and stops the check for requests that arrive too slowly.
    NetServer.prototype.close.call(this.server);
    const closedAt = performance.now();
    const graceEnd = Math.min(closedAt + GRACE_MS, (closedAt + end) / 2);
    const sweep = setInterval(() => {
      if (performance.now() >= graceEnd) this.sweep(end);
    }, SWEEP_MS);
    await closed;
    clearInterval(sweep);
    this.server.close();
  }

  /**
   * At the close, the system resets connections that were not accepted. Node.js accepts one in each event-loop turn.
   */
  private async noNewConnection(end: number): Promise<void> {
    do {
      await sleep(SWEEP_MS);
      // This comes after the phase that accepts. Otherwise a long turn would look like a time without connections.
      await nextTurn();
    } while (performance.now() - this.newestConnectionAt < QUIET_MS && performance.now() < end);
  }

  /** Ends idle connections, and all of them when the time is over. */
  private sweep(end: number): void {
    const { STORAGE_TIMEOUT, SHUTDOWN_TIMEOUT } = this.environment;
    const left = end - performance.now();
    if (left <= 0) {
      const { size } = this.connections;
      this.logger.warn(`${size} connections were still open after ${SHUTDOWN_TIMEOUT} ms, and are cut off`);
    }
    this.server.closeIdleConnections();
    for (const [socket, { last }] of this.connections) {
      // For Node.js, a connection that never sent anything is not idle.
      if (left <= 0 || socket.bytesRead === 0) socket.destroy();
      // So little time is left that the plant of a request that is still arriving could not be stored any more.
      else if (left < STORAGE_TIMEOUT && (last === undefined || last.writableFinished || !last.req.complete))
        this.server.emit('clientError', requestTimeout('before the service stopped'), socket);
    }
  }
}
