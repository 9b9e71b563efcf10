import { Logger } from '@nestjs/common';
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../config/environment.js';
import type { ResponseHook } from '../http/request-context.js';
import type { Connections } from './http-server.js';

/** How long an idle connection may still send a request. */
const GRACE_MS = 2000;
const SWEEP_MS = 50;
/** The listener closes when no connection came for this long, or after the longest wait. */
const QUIET_MS = 200;
const MAX_QUIET_WAIT_MS = 2000;

/** Closes an HTTP server and answers as many requests as the time allows. Node.js alone would reset connections. */
export class GracefulShutdown {
  private newestConnectionAt = -Infinity;

  constructor(
    private readonly server: Server,
    private readonly connections: Connections,
    private readonly hooks: ResponseHook[],
    private readonly environment: Pick<Environment, 'DRAIN_DELAY' | 'SHUTDOWN_TIMEOUT'>,
  ) {
    server.on('connection', () => {
      this.newestConnectionAt = performance.now();
    });
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const { DRAIN_DELAY, SHUTDOWN_TIMEOUT } = this.environment;
    const end = performance.now() + SHUTDOWN_TIMEOUT;
    // A load balancer notices the stop only after a while.
    await sleep(DRAIN_DELAY);
    // Clients whose connection ends open another one. So no connection ends before this.
    await this.noNewConnection(Math.min(end, performance.now() + MAX_QUIET_WAIT_MS));
    this.hooks.push({ beforeHead: this.endConnection.bind(this) });
    const closed = once(this.server, 'close');
    // `close` of the HTTP server destroys idle connections and stops the check for requests that arrive too slowly.
    NetServer.prototype.close.call(this.server);
    const graceEnd = Math.min(performance.now() + GRACE_MS, (performance.now() + end) / 2);
    const sweep = setInterval(() => {
      if (performance.now() >= graceEnd) this.sweep(performance.now() >= end);
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

  /** The answer says that its connection ends. If a client pipelines, only the last one says so. */
  private endConnection(response: ServerResponse): void {
    const connection = this.connections.get(response.req.socket);
    if (connection?.last !== response) return;
    connection.isEnding = true;
    response.shouldKeepAlive = false;
  }

  /** Ends idle connections, and all of them when the time is over. */
  private sweep(isOver: boolean): void {
    if (isOver) {
      const { size } = this.connections;
      const { SHUTDOWN_TIMEOUT } = this.environment;
      new Logger('Shutdown').warn(`${size} connections were still open after ${SHUTDOWN_TIMEOUT} ms, and are cut off`);
    }
    this.server.closeIdleConnections();
    // For Node.js, a connection that never sent anything is not idle.
    for (const socket of this.connections.keys()) if (isOver || socket.bytesRead === 0) socket.destroy();
  }
}
