import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Environment } from '../environment.js';
import type { Metrics } from './metrics.js';
import type { Readiness } from './readiness.js';

const REQUEST_TIMEOUT_MS = 10_000;
/** Beyond as many, the newest is closed at once: probes need few, and the others leave descriptors to clients. */
export const MAX_MANAGEMENT_CONNECTIONS = 64;

/** The management listener: a plain server, so that it answers even if the public one does not. */
export class ManagementServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ManagementServer.name);
  private readonly server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void this.answer(request, response);
  });
  constructor(
    private readonly environment: Environment,
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {}

  /** Where the listener is bound; undefined while it is closed. */
  address(): AddressInfo | undefined {
    // A string is the address of a pipe, which this server never listens on.
    return (this.server.address() as AddressInfo | null) ?? undefined;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port } = this.environment;
    this.server.maxConnections = MAX_MANAGEMENT_CONNECTIONS;
    await once(this.server.listen({ host, port }), 'listening');
    // It must not keep a process alive whose start fails elsewhere.
    this.server.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    // An idle probe must not delay the end.
    this.server.closeAllConnections();
    await closed;
  }

  private async answer({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const [path] = url.split('?', 1);
      if (path === '/livez') sendJson(response, 200, { status: 'ok' });
      else if (path === '/readyz') {
        const state = await this.readiness.state();
        sendJson(response, state.status === 'unavailable' ? 503 : 200, state);
      } else if (path === '/metrics') {
        const { text, type } = await this.metrics.expose();
        send(response, 200, type, text);
      } else sendJson(response, 404, { message: 'No such path; there are /livez, /readyz and /metrics.' });
    } catch (error) {
      this.logger.error(error instanceof Error ? error.stack : error);
      sendJson(response, 500, { message: 'This could not be found out; the log says why.' });
    }
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, 'application/json', JSON.stringify(body));
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  const length = Buffer.byteLength(text);
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': length, 'Cache-Control': 'no-store' }).end(text);
}
