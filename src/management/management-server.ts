import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { listenError } from '../app/config-error.js';
import { type ManagementOptions, MANAGEMENT_OPTIONS } from './management.options.js';
import { MetricsSource } from './metrics-source.js';
import { Readiness } from './readiness.js';

interface Answer {
  status: number;
  /** Sent as JSON, but for text, whose type the headers tell. */
  body: object | string;
  headers?: Record<string, string>;
}

/** The management listener: a plain server, so that it answers whatever becomes of the public one. */
@Injectable()
export class ManagementServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ManagementServer.name);
  private readonly server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    void this.handle(request, response);
  });

  private readonly routes = new Map<string, () => Answer | Promise<Answer>>([
    ['/livez', () => this.answerLiveness()],
    ['/readyz', () => this.answerReadiness()],
    ['/metrics', () => this.answerMetrics()],
  ]);

  constructor(
    @Inject(MANAGEMENT_OPTIONS) private readonly options: ManagementOptions,
    private readonly readiness: Readiness,
    private readonly metrics: MetricsSource,
  ) {}

  /** Where the listener is bound, nothing while it is closed. */
  address(): AddressInfo | undefined {
    // A string is the address of a pipe, which this server never listens on.
    return (this.server.address() as AddressInfo | null) ?? undefined;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { listener } = this.options;
    if (listener === undefined) return;
    try {
      this.server.listen(listener);
      await once(this.server, 'listening');
    } catch (error) {
      throw listenError(error, { port: 'MANAGEMENT_PORT', host: 'MANAGEMENT_HOST' }, listener);
    }
    // A process whose start fails elsewhere, or that has nothing else to do, must not be kept alive by its own probes.
    this.server.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    // Nobody waits for an answer that matters any more, and an idle probe must not hold up the end.
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

  private answerLiveness(): Answer {
    return { status: 200, body: { status: 'ok' } };
  }

  private async answerReadiness(): Promise<Answer> {
    const reason = await this.readiness.findObstacle();
    const details = this.readiness.details();
    return reason === undefined
      ? { status: 200, body: { status: 'ok', ...details } }
      : { status: 503, body: { status: 'unavailable', reason, ...details } };
  }

  private async answerMetrics(): Promise<Answer> {
    const { contentType, content } = await this.metrics.page();
    return { status: 200, body: content, headers: { 'Content-Type': contentType } };
  }
}
