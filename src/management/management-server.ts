import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { MetricsSources } from './metrics.js';

const REQUEST_TIMEOUT_MS = 10_000;
/** Beyond as many, the newest is closed at once: probes need few, and the others leave descriptors to clients. */
export const MAX_MANAGEMENT_CONNECTIONS = 64;

export interface ListenerAddress {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
}

/** The management listener could not be opened; its `cause` is the error of `listen`. */
export class ManagementListenError extends Error {
  override readonly name = 'ManagementListenError';
}

interface Answer {
  status: number;
  /** An object is sent as JSON; the headers name the type of a text. */
  body: object | string;
  headers?: Record<string, string>;
}

/** The management listener: a plain server, so that it answers even if the public one does not. */
export class ManagementServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ManagementServer.name);
  private readonly server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void this.handle(request, response);
  });

  private readonly routes = new Map<string, () => Answer | Promise<Answer>>([
    ['/livez', () => ({ status: 200, body: { status: 'ok' } })],
    ['/readyz', () => this.answerReadiness()],
    ['/metrics', () => this.answerMetrics()],
  ]);

  private metrics: Promise<Registry> | undefined;

  constructor(
    private readonly listener: ListenerAddress,
    private readonly sources: MetricsSources,
  ) {}

  /** Where the listener is bound; undefined while it is closed. */
  address(): AddressInfo | undefined {
    // A string is the address of a pipe, which this server never listens on.
    return (this.server.address() as AddressInfo | null) ?? undefined;
  }

  async onApplicationBootstrap(): Promise<void> {
    this.server.maxConnections = MAX_MANAGEMENT_CONNECTIONS;
    try {
      this.server.listen(this.listener);
      await once(this.server, 'listening');
    } catch (cause) {
      throw new ManagementListenError('the management listener could not be opened', { cause });
    }
    // It must not keep a process alive whose start fails elsewhere, or that has nothing else to do.
    this.server.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    // No answer matters any more, and an idle probe must not delay the end.
    this.server.closeAllConnections();
    await closed;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body, headers } = await this.answer(request);
    const content = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(content),
      'Cache-Control': 'no-store',
      ...headers,
    });
    response.end(content);
  }

  private async answer({ method = '', url = '' }: IncomingMessage): Promise<Answer> {
    const [path = ''] = url.split('?');
    const route = this.routes.get(path);
    if (!route) {
      const paths = [...this.routes.keys()];
      return { status: 404, body: { message: `No such path; there are ${paths.join(', ')}.` } };
    }
    if (method !== 'GET' && method !== 'HEAD') {
      return { status: 405, body: { message: `Use GET, not ${method}.` }, headers: { Allow: 'GET, HEAD' } };
    }
    try {
      return await route();
    } catch (error) {
      this.logger.error(error instanceof Error ? error.stack : error);
      return { status: 500, body: { message: 'This could not be found out; the log says why.' } };
    }
  }

  private async answerReadiness(): Promise<Answer> {
    const { readiness } = this.sources;
    const reason = await readiness.findObstacle();
    if (reason !== undefined) return { status: 503, body: { status: 'unavailable', reason } };
    const { degradation } = readiness;
    return { status: 200, body: degradation ? { status: 'degraded', reason: degradation } : { status: 'ok' } };
  }

  private async answerMetrics(): Promise<Answer> {
    // prom-client takes about 30 ms and 12 MB, so it is loaded at the first request only.
    this.metrics ??= import('./metrics.js').then(({ observe }) => observe(this.sources));
    const registry = await this.metrics.catch((error: unknown) => {
      this.metrics = undefined;
      throw error;
    });
    return { status: 200, body: await registry.metrics(), headers: { 'Content-Type': registry.contentType } };
  }
}
