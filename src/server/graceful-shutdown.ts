import { Logger } from '@nestjs/common';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../config/environment.js';
import type { ResponseHook } from '../http/request-context.js';
import type { HttpServer } from './http-server.js';

/** How long an idle connection may still send a request. */
const IDLE_GRACE_MS = 2000;
const SWEEP_MS = 50;
/** The listener closes when no connection came for this long, or after the longest wait. */
const QUIET_MS = 200;
const MAX_QUIET_WAIT_MS = 2000;

/** Closes an HTTP server and answers as many requests as the time allows. Node.js alone would reset connections. */
export class GracefulShutdown {
  private newestConnectionAt = -Infinity;

  constructor(
    private readonly http: HttpServer,
    private readonly hooks: ResponseHook[],
    private readonly environment: Pick<Environment, 'DRAIN_DELAY' | 'SHUTDOWN_TIMEOUT'>,
  ) {
    http.server.on('connection', () => {
      this.newestConnectionAt = performance.now();
    });
  }

  async close(): Promise<void> {
    const { server } = this.http;
    if (!server.listening) return;
    const { DRAIN_DELAY, SHUTDOWN_TIMEOUT } = this.environment;
    const end = performance.now() + SHUTDOWN_TIMEOUT;
    // A load balancer notices the stop only after a while.
    await sleep(DRAIN_DELAY);
    // Clients whose connection ends open another one. So no connection ends before this.
    await this.noNewConnection(Math.min(end, performance.now() + MAX_QUIET_WAIT_MS));
    this.hooks.push({ beforeHead: this.endConnection.bind(this) });
    const closed = once(server, 'close');
    // `close` of the HTTP server destroys idle connections and stops the check for requests that arrive too slowly.
    NetServer.prototype.close.call(server);
    const graceEnd = Math.min(performance.now() + IDLE_GRACE_MS, (performance.now() + end) / 2);
    const sweep = setInterval(() => {
      if (performance.now() >= graceEnd) this.sweep(performance.now() >= end);
    }, SWEEP_MS);
    await closed;
    clearInterval(sweep);
    server.close();
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
    const connection = this.http.connections.get(response.req.socket);
    if (connection?.last !== response) return;
    connection.isEnding = true;
    response.shouldKeepAlive = false;
  }

  /** Ends idle connections, and all of them when the time is over. */
  private sweep(isOver: boolean): void {
    const { server, connections } = this.http;
    if (isOver) {
      const found = `${connections.size} connections were still open after ${this.environment.SHUTDOWN_TIMEOUT} ms`;
      new Logger('Shutdown').warn(`${found}, and are cut off`);
    }
    server.closeIdleConnections();
    // For Node.js, a connection that never sent anything is not idle.
    for (const socket of connections.keys()) if (isOver || socket.bytesRead === 0) socket.destroy();
  }
}
